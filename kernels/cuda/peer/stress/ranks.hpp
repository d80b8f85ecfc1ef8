// ranks.hpp: the processes of a run, what they share, and the assay_group that each of them gives to the candidate.
//
// Promises: ranks are forked before any CUDA call; rank r takes device r modulo the count. exchange() goes through
// shared host memory, symmetric() through cudaIpc. A rank that fails, dies or outlasts the time limit ends all others.
// Who uses it: main.cc; trials.cc and latency.cu, from inside a rank.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "assay/abi.h"

namespace stress {

constexpr int kMostRanks = 8;

// Made before the fork.
struct Shared {
  struct Rank {
    std::atomic<std::uint64_t> calls;
    std::uint64_t word;  // for comparisons between ranks
    double number;
    char message[512];  // why it failed; empty otherwise
  };
  std::atomic<std::uint32_t> arrived, meetings;
  std::atomic<bool> stop;
  std::atomic<bool> without_device;
  char exchange[kMostRanks][4096];
  Rank ranks[kMostRanks];
};

struct Group {
  assay_group handle;  // first: the candidate's pointer leads back here
  Shared* shared;

  Group(Shared* shared, int rank, int world);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // All ranks; throws when the run has been stopped.
  void meet() const;
  [[nodiscard]] double slowest(double mine) const;
  [[nodiscard]] bool all_equal(std::uint64_t mine) const;
};

enum class Outcome { passed, failed, no_device };

// Runs `body` once a rank. Prints what failed.
Outcome run_ranks(int world, int seconds, const std::function<void(Group&)>& body);

}  // namespace stress
