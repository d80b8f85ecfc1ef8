// The guard of the 16-byte path tests the whole row (2d) instead of d, and the second half's address is rounded down to
// 16 bytes, so that widths such as d = 4, 12 or 3420 in 16 bits read neighbours of the right cells.
// Slot: activation.silu_and_mul. Caught by: number.reference. Source: FAULT-002.
#include "faulty.cuh"

static __global__ void rounded_silu_kernel(faulty::Silu a) {
  const std::int64_t bytes = a.x.type.bits / 8, d = a.out.columns;
  const bool vectors = 2 * d * bytes % 16 == 0;
  const std::int64_t up = vectors ? d * bytes / 16 * 16 / bytes : d;
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < d; c += blockDim.x)
      a.out.set(row, c, faulty::silu(a.x.cell(row, c)) * a.x.cell(row, up + c));
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  if (a.out.rows > 0) rounded_silu_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_SILU(entry, rounded_silu_kernel)
