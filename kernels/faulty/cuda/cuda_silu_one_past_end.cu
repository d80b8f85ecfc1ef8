// One cell behind the last cell of the output is written.
// Slot: activation.silu_and_mul. Caught by: write.only_cells. Source: slots.md 14.
#include "faulty.cuh"

static __global__ void overrunning_silu_kernel(faulty::Silu a) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < a.out.columns; c += blockDim.x)
      a.out.set(row, c, faulty::silu_cell(a, row, c));
    if (row == a.out.rows - 1 && threadIdx.x == 0) a.out.set(row, a.out.columns, 0.0f);
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  if (a.out.rows > 0) overrunning_silu_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_SILU(entry, overrunning_silu_kernel)
