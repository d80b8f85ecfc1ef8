#include "conformance/shard.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <tuple>

namespace assay {
namespace {

// Every judge asks for every part of every unit, and those of a variant follow each other.
TEST(Shard, JudgesAskForAllAndStayWithAVariant) {
  const std::vector<CandidateVariant> variants(7);
  std::vector<Unit> units;
  for (const CandidateVariant& variant : variants)
    for (const int ranks : {2, 4})
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        units.emplace_back();
        units.back().variant = &variant;
        units.back().ranks = ranks;
        units.back().dtype = dtype;
      }
  for (const int judges : {1, 2, 5, 16, 64}) {
    const int parts = parts_of(units.size(), judges, Tier::gate);
    std::set<std::size_t> begins;
    for (int judge = 0; judge < judges; ++judge) {
      const std::vector<Unit> asked = in_turn(units, judge, judges, parts);
      std::set<std::tuple<const CandidateVariant*, int, DType, int>> seen;
      int changes = 0;
      for (std::size_t i = 0; i < asked.size(); ++i) {
        EXPECT_EQ(asked[i].parts, parts);
        seen.emplace(asked[i].variant, asked[i].ranks, asked[i].dtype, asked[i].part);
        changes += i > 0 && (asked[i].variant != asked[i - 1].variant || asked[i].ranks != asked[i - 1].ranks);
      }
      EXPECT_EQ(seen.size(), units.size() * static_cast<std::size_t>(parts));
      EXPECT_LE(changes, 14);  // seven variants with two numbers of ranks each, the first perhaps in two pieces
      begins.insert(static_cast<std::size_t>(asked.front().variant - variants.data()));
    }
    EXPECT_EQ(begins.size(), std::min<std::size_t>(7, static_cast<std::size_t>(judges)));
  }
}

TEST(Shard, MpsServesSoManyClientsAndNoMore) {
  CandidateVariant variant;
  variant.device = DeviceType::cuda;
  std::vector<Unit> units(1);
  units[0].variant = &variant;
  units[0].ranks = 4;
  EXPECT_EQ(most_judges(units, 16), 16);
  setenv("CUDA_MPS_PIPE_DIRECTORY", "/tmp/mps", 1);
  EXPECT_EQ(most_judges(units, 16), 8);
  EXPECT_EQ(most_judges(units, 4), 4);
  units[0].ranks = 1;
  EXPECT_EQ(most_judges(units, 32), 20);
  unsetenv("CUDA_MPS_PIPE_DIRECTORY");
}

TEST(Shard, OneSlotsThreeDtypesKeepTwoCoresBusy) {
  EXPECT_EQ(parts_of(3, 2, Tier::quick), 2);
  EXPECT_EQ(parts_of(33, 2, Tier::quick), 1);
  EXPECT_EQ(parts_of(27, 16, Tier::gate), 8);
}

}  // namespace
}  // namespace assay
