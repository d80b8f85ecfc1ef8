// A row's offset is formed in 32 bits, so that rows past 2^31 elements land before the tensor.
// Slot: activation.silu_and_mul. Caught by: number.extremes. Source: FAULT-001.
#include "faulty.cuh"

static __global__ void narrow_silu_kernel(faulty::Silu a) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    std::int64_t x = a.x.start(row);
    // The pitch form of a tensor of rank 2; unsigned, since signed overflow is undefined, then read as signed.
    if (a.x.leading == 1) x = static_cast<int>(static_cast<unsigned>(row) * static_cast<unsigned>(a.x.stride[0]));
    for (std::int64_t c = threadIdx.x; c < a.out.columns; c += blockDim.x) {
      const float gate = a.x.get(x + c * a.x.column_step), up = a.x.get(x + (c + a.out.columns) * a.x.column_step);
      a.out.set(row, c, faulty::silu(gate) * up);
    }
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  if (a.out.rows > 0) narrow_silu_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_SILU(entry, narrow_silu_kernel)
