#include "harness/device/host/block_order.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace assay::host {
namespace {

std::vector<std::uint32_t> order_of(BlockOrder order, std::uint32_t blocks) {
  std::vector<std::uint32_t> seen;
  for_each_block(order, blocks, [&](std::uint32_t block) { seen.push_back(block); });
  return seen;
}

std::vector<std::uint32_t> ascending(std::uint32_t blocks) {
  std::vector<std::uint32_t> order(blocks);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

TEST(BlockOrder, SeedZeroIsAscending) { EXPECT_EQ(order_of({0, 9}, 100), ascending(100)); }

RC_GTEST_PROP(BlockOrder, EveryBlockRunsExactlyOnce, (std::uint64_t seed, std::uint64_t launch)) {
  const auto blocks = *rc::gen::inRange<std::uint32_t>(1, 3000);
  auto order = order_of({seed, launch}, blocks);
  std::sort(order.begin(), order.end());
  RC_ASSERT(order == ascending(blocks));
}

RC_GTEST_PROP(BlockOrder, SameSeedAndLaunchGiveTheSameOrder, (std::uint64_t seed, std::uint64_t launch)) {
  const auto blocks = *rc::gen::inRange<std::uint32_t>(1, 300);
  RC_ASSERT(order_of({seed, launch}, blocks) == order_of({seed, launch}, blocks));
}

TEST(BlockOrder, LaunchesOfOneProgramDiffer) {
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint64_t launch = 0; launch < 100; ++launch) orders.insert(order_of({5, launch}, 32));
  EXPECT_EQ(orders.size(), 100u);
}

TEST(BlockOrder, ManyLaunchesOfThreeBlocksShowAllSixOrders) {
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint64_t launch = 0; launch < 200; ++launch) orders.insert(order_of({5, launch}, 3));
  EXPECT_EQ(orders.size(), 6u);
}

TEST(BlockOrder, WindowsOfALargeLaunchCoverItWithoutOverlap) {
  for (const std::uint32_t blocks : {BlockOrder::window, BlockOrder::window + 1, 3 * BlockOrder::window - 1}) {
    for (std::uint64_t launch = 0; launch < 4; ++launch) {
      auto order = order_of({5, launch}, blocks);
      EXPECT_NE(order, ascending(blocks));
      std::sort(order.begin(), order.end());
      EXPECT_EQ(order, ascending(blocks));
    }
  }
}

}  // namespace
}  // namespace assay::host
