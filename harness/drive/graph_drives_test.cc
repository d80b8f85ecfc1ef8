#include <gtest/gtest.h>

#include "harness/drive/drives.hpp"

namespace assay {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// Four ranks whose scratch grows by 4 MiB an interval. On one device each sees that of all, else its own.
Observation taking_scratch(bool one_device) {
  Observation seen;
  seen.others.resize(3);
  for_each_rank(seen, [&](Observation& rank) {
    for (std::uint64_t i = 0; i < 5; ++i)
      rank.usage.push_back({(100 + (one_device ? 4 : 1) * i * 4) * kMiB, 7, i * 4 * kMiB});
  });
  return seen;
}

TEST(GraphDrives, ScratchOfOtherRanksOnTheDeviceIsNoGrowth) {
  for (const bool one_device : {false, true}) {
    Observation seen = taking_scratch(one_device);
    EXPECT_TRUE(grows(seen.usage));
    leave_out_scratch(seen, one_device);
    for_each_rank(seen, [](const Observation& rank) {
      for (const DeviceUsage& usage : rank.usage) {
        EXPECT_EQ(usage.bytes_used, 100 * kMiB);
        EXPECT_EQ(usage.handles, 7u);
      }
    });
    EXPECT_FALSE(grows(seen.usage));
  }
}

TEST(GraphDrives, WhatARankKeepsBesideItsScratchIsGrowth) {
  Observation seen = taking_scratch(true);
  for_each_rank(seen, [](Observation& rank) {
    for (std::size_t i = 0; i < rank.usage.size(); ++i) rank.usage[i].bytes_used += i * 2 * kMiB;
  });
  leave_out_scratch(seen, true);
  for_each_rank(seen, [](const Observation& rank) { EXPECT_TRUE(grows(rank.usage)); });
}

// A rank that ended early measured less often than the others.
TEST(GraphDrives, RanksMayHaveMeasuredDifferentlyOften) {
  for (const bool first : {true, false}) {
    Observation seen = taking_scratch(true);
    (first ? seen : seen.others[1]).usage.resize(2);
    leave_out_scratch(seen, true);
    EXPECT_EQ(seen.usage[1].bytes_used, 100 * kMiB);
    EXPECT_EQ(seen.others[0].usage[4].bytes_used, 116 * kMiB) << "three ranks had 16 MiB each";
  }
}

}  // namespace
}  // namespace assay
