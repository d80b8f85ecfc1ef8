// The answer is added to what the output holds, atomically where the type allows, as if somebody had cleared it.
// Slot: activation.silu_and_mul. Caught by: write.every_cell. Source: rules.md.
#include "faulty.cuh"

static __global__ void adding_silu_kernel(faulty::Silu a) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < a.out.columns; c += blockDim.x) {
      const std::int64_t cell = a.out.start(row) + c * a.out.column_step;
      const float answer = faulty::silu_cell(a, row, c);
      if (a.out.type.bits == 32) {
        atomicAdd(reinterpret_cast<float*>(a.out.data) + cell, answer);
      } else {
        a.out.put(cell, a.out.get(cell) + answer);
      }
    }
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  if (a.out.rows > 0) adding_silu_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_SILU(entry, adding_silu_kernel)
