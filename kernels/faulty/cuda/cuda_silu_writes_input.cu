// The gates are replaced by their SiLU in the input before the product is formed.
// Slot: activation.silu_and_mul. Caught by: input.unchanged. Source: blame:device_fault.
#include "faulty.cuh"

static __global__ void in_place_silu_kernel(faulty::Silu a) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < a.out.columns; c += blockDim.x) {
      const float answer = faulty::silu_cell(a, row, c);
      a.x.set(row, c, faulty::silu(a.x.cell(row, c)));
      a.out.set(row, c, answer);
    }
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  if (a.out.rows > 0) in_place_silu_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_SILU(entry, in_place_silu_kernel)
