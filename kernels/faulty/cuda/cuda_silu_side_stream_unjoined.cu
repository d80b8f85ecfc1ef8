// The work is forked to a side stream that waits for the call's stream but is never joined back, so that the call's
// stream is done before the output is.
// Slot: activation.silu_and_mul. Caught by: stream.ordered. Source: slots.md 14.
#include "faulty.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  static cudaEvent_t forked = nullptr;
  const faulty::Silu a = faulty::silu_args(x, out);
  if (a.out.rows == 0) return ASSAY_OK;
  if (forked == nullptr) cudaEventCreateWithFlags(&forked, cudaEventDisableTiming);
  const cudaStream_t side = faulty::side_stream();
  cudaEventRecord(forked, call->cuda_stream);
  cudaStreamWaitEvent(side, forked, 0);
  faulty::delay_kernel<<<1, 1, 0, side>>>(2000);
  faulty::silu_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, side>>>(a);
  return faulty::launched(call);
}

FAULTY_SILU(entry, faulty::silu_kernel, faulty::delay_kernel)
