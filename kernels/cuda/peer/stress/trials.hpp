// trials.hpp: thousands of calls of a candidate's collectives under skew, in bursts and in graphs.
//
// Promises: all ranks draw the same calls from the seed; delays, alignment and pitch are each rank's own. A round
// captures two graphs of one to three calls of any slot and then mixes their replays with bursts of eager calls, with
// fresh inputs each time; the host waits at the end of the round only. Every output cell of every call is checked.
// Who uses it: main.cc.
#pragma once

#include <cstdint>

#include "kernels/cuda/peer/stress/calls.hpp"
#include "kernels/cuda/peer/stress/ranks.hpp"

namespace stress {

// The candidate's variants as one rank has them: loaded, and through init with the rank's group.
class Candidate {
 public:
  Candidate(const char* path, const Group& group);

  [[nodiscard]] bool offers(Op op) const { return variants_[static_cast<int>(op)] != nullptr; }
  // Throws with the candidate's words unless the status is ASSAY_OK.
  void call(const CallBuffers& buffers, cudaStream_t stream) const;

 private:
  [[nodiscard]] assay_call call_of(void* state, char (&words)[256]) const;

  const Group& group_;
  DLDevice device_{kDLCUDA, 0};
  const assay_variant* variants_[kOps] = {};
  void* states_[kOps] = {};
};

// Throws on the first wrong cell, with its place; returns the number of calls.
std::uint64_t run_trials(const Candidate& candidate, const Group& group, std::uint64_t seed, std::uint64_t calls);

}  // namespace stress
