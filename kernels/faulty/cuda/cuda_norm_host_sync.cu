// The entry waits for the call's stream before it returns.
// Slot: norm.rmsnorm. Caught by: stream.no_host_sync. Source: slots.md 14.
#include "faulty.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const assay_status status = faulty::run_rmsnorm(call, faulty::rmsnorm_args(x, weight, out, eps));
  return status == ASSAY_OK ? faulty::check(call, cudaStreamSynchronize(call->cuda_stream)) : status;
}

FAULTY_RMSNORM(entry, faulty::rmsnorm_kernel)
