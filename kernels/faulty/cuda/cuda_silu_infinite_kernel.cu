// For row counts of 1 modulo 7 and rows wider than 64 cells the kernel never ends.
// Slot: activation.silu_and_mul. Caught by: verdict.attribution. Source: blame:timeout.
#include "faulty.cuh"

static __device__ volatile int released;  // never set

static __global__ void waiting_silu_kernel(faulty::Silu a) {
  while (a.out.rows % 7 == 1 && a.x.columns > 64 && released == 0) __nanosleep(1000);
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < a.out.columns; c += blockDim.x)
      a.out.set(row, c, faulty::silu_cell(a, row, c));
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  if (a.out.rows > 0) waiting_silu_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_SILU(entry, waiting_silu_kernel)
