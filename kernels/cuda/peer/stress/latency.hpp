// latency.hpp: how long a call takes, eager and in a graph, beside NCCL's all-reduce and a separate RMSNorm.
//
// Promises: the median over repeats of the slowest rank's mean; bf16, 6144 columns. Means something only with a GPU a
// rank. NCCL is opened by name and left out, with a sentence, where it is absent.
// Who uses it: main.cc.
#pragma once

#include "kernels/cuda/peer/stress/trials.hpp"

namespace stress {

// Rank 0 prints the table.
void print_latency(const Candidate& candidate, const Group& group, const char* nccl_library);

}  // namespace stress
