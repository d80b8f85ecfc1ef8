// The last cell of the last row is not written.
// Slot: activation.silu_and_mul. Caught by: write.every_cell. Source: slots.md 14.
#include "faulty.cuh"

static __global__ void short_silu_kernel(faulty::Silu a) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    const std::int64_t columns = a.out.columns - (row == a.out.rows - 1 ? 1 : 0);
    for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x) a.out.set(row, c, faulty::silu_cell(a, row, c));
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  if (a.out.rows > 0) short_silu_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_SILU(entry, short_silu_kernel)
