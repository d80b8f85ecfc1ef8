// The library remembers the capture that it was last called in and takes the second call in it for a repeated warm-up,
// which it leaves out.
// Slot: activation.silu_and_mul. Caught by: graph.call_count. Source: rules.md.
#include "faulty.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  static unsigned long long last = 0;
  const faulty::Silu a = faulty::silu_args(x, out);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  const cudaError_t error = cudaStreamGetCaptureInfo(call->cuda_stream, &status, &id);
  if (error != cudaSuccess) return faulty::check(call, error);
  if (status == cudaStreamCaptureStatusActive) {
    if (id == last) return ASSAY_OK;
    last = id;
  }
  return faulty::run_silu(call, a);
}

FAULTY_SILU(entry, faulty::silu_kernel)
