#include "harness/rank/placing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace assay {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::vector<int> ordinals(const std::vector<RankPlace>& places) {
  std::vector<int> list;
  for (const RankPlace& p : places) list.push_back(p.ordinal);
  return list;
}
std::string host_id(const RankPlace& place) {
  for (const std::string& e : place.environment)
    if (e.rfind("NCCL_HOSTID=", 0) == 0) return e;
  return {};
}

TEST(PlaceRanks, AGpuEachWhereThereAreEnough) {
  EXPECT_EQ(ordinals(place_ranks(2, 2, 0, "s")), (std::vector<int>{0, 1}));
  EXPECT_EQ(ordinals(place_ranks(4, 8, 0, "s")), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(ordinals(place_ranks(2, 4, 2, "s")), (std::vector<int>{2, 3}));
  for (const RankPlace& p : place_ranks(4, 8, 0, "s")) EXPECT_EQ(host_id(p), "") << "one host";
}

TEST(PlaceRanks, FewerShareTheNamedOneAsHostsOfTheirOwn) {
  for (const auto& [world, devices, first] :
       {std::tuple(2, 1, 0), std::tuple(4, 3, 0), std::tuple(2, 4, 3), std::tuple(16, 8, 2)}) {
    const auto places = place_ranks(world, devices, first, "assay-7");
    std::set<std::string> hosts;
    for (const RankPlace& p : places) {
      EXPECT_EQ(p.ordinal, first);
      hosts.insert(host_id(p));
    }
    EXPECT_EQ(hosts.size(), static_cast<std::size_t>(world));
    EXPECT_EQ(hosts.count(""), 0u);
    EXPECT_THAT(host_id(places.back()), HasSubstr("assay-7"));
  }
}

TEST(PlaceRanks, OneRankStaysWhereItWasPutAndMulticastIsNeverOn) {
  EXPECT_EQ(ordinals(place_ranks(1, 1, 0, "s")), std::vector<int>{0});
  EXPECT_EQ(ordinals(place_ranks(1, 4, 3, "s")), std::vector<int>{3});
  for (const int world : {1, 2, 4})
    for (const RankPlace& p : place_ranks(world, 2, 0, "s")) {
      EXPECT_THAT(p.environment, Contains("NCCL_NVLS_ENABLE=0"));
      EXPECT_THAT(p.environment, Contains("NCCL_SOCKET_IFNAME=lo"));
    }
}

}  // namespace
}  // namespace assay
