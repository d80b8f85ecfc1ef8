// block_order.hpp: in which order the blocks of one launch run.
//
// Promises: each of 0..blocks-1 exactly once; the same (seed, ordinal, blocks) gives the same order; seed 0 gives the
// ascending order. Memory is bounded whatever the number of blocks.
// Does not promise: every permutation. Launches of more than `window` blocks are shuffled within windows, and the
// windows run upwards or downwards.
// Who calls it: the host model, once a launch.
//
//   for_each_block({.seed = 7, .launch = 3}, blocks, [&](std::uint32_t block) { kernel(args, block, blocks); });
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace assay::host {

struct BlockOrder {
  static constexpr std::uint32_t window = 1u << 16;
  std::uint64_t seed = 0;
  std::uint64_t launch = 0;  // ordinal of the launch in its program, so that no two launches share an order by design
};

// SplitMix64: a counter-based generator with no state to carry from launch to launch.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class Run>
void for_each_block(BlockOrder order, std::uint32_t blocks, Run&& run) {
  if (order.seed == 0) {
    for (std::uint32_t block = 0; block < blocks; ++block) run(block);
    return;
  }
  const std::uint64_t key = mix(mix(order.seed) ^ order.launch);
  std::uint64_t counter = 0;
  const std::uint32_t windows = (blocks - 1) / BlockOrder::window + 1;
  const bool downwards = (mix(key ^ ++counter) & 1) != 0;
  std::vector<std::uint32_t> shuffled;
  for (std::uint32_t w = 0; w < windows; ++w) {
    const std::uint32_t first = (downwards ? windows - 1 - w : w) * BlockOrder::window;
    shuffled.resize(std::min(BlockOrder::window, blocks - first));
    std::iota(shuffled.begin(), shuffled.end(), first);
    for (std::size_t left = shuffled.size(); left > 1; --left) {
      std::swap(shuffled[left - 1], shuffled[mix(key ^ ++counter) % left]);
    }
    for (const std::uint32_t block : shuffled) run(block);
  }
}

}  // namespace assay::host
