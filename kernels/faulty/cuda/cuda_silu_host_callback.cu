// The call counts itself in a host callback on the stream, which ends up in the graph.
// Slot: activation.silu_and_mul. Caught by: graph.captures. Source: slots.md 9.3.
#include <atomic>

#include "faulty.cuh"

static std::atomic<int> finished{0};

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const assay_status status = faulty::run_silu(call, faulty::silu_args(x, out));
  if (status != ASSAY_OK) return status;
  return faulty::check(call, cudaLaunchHostFunc(
                                 call->cuda_stream, [](void*) { ++finished; }, nullptr));
}

FAULTY_SILU(entry, faulty::silu_kernel)
