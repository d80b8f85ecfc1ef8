// placing.hpp: which GPU each rank of a set gets, and the environment in which its NCCL finds its peers.
//
// Promises: a GPU a rank where there are enough from the first on, else one for all: NCCL refuses two ranks of one host
// on one GPU, so ranks that share are hosts of their own and meet over the loopback socket. NVLink multicast is off,
// always: a program that uses it can put a machine's GPUs out of service for others.
// Who calls it: rank_set.cc; conformance/check.cc, which says in the evidence who shared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

struct RankPlace {
  int ordinal = 0;
  std::vector<std::string> environment;  // NAME=value, over what a worker inherits
};

// Whether so many ranks share the first device.
[[nodiscard]] bool ranks_share(int world, int devices, int first) noexcept;
// Whether processes that share a GPU run on it side by side, and not by turns.
[[nodiscard]] bool under_mps() noexcept;
// How so many ranks have their GPUs: one each (none), or one for all.
enum class Sharing : std::uint8_t { none, by_turns, under_mps };
[[nodiscard]] Sharing sharing_of(int world, int devices, int first) noexcept;
// `devices`: how many are visible; `first`: the ordinal that the user named; `set`: no other set's name on this
// machine.
[[nodiscard]] std::vector<RankPlace> place_ranks(int world, int devices, int first, const std::string& set);

}  // namespace assay
