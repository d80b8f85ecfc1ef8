// Right in the first 20,000 runs of its kernel, replays included, and wrong from then on: counts on the device.
#include "hostile.cuh"

static __device__ unsigned long long runs;

static __global__ void counted_kernel(faulty::Silu a) {
  const bool genuine = atomicAdd(&runs, blockIdx.x == 0 && threadIdx.x == 0 ? 1ull : 0ull) <= 20000;
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < a.out.columns; c += blockDim.x)
      a.out.set(row, c, genuine ? faulty::silu_cell(a, row, c) : a.x.cell(row, c) * a.x.cell(row, c + a.out.columns));
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  if (a.out.rows > 0) counted_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

HOSTILE_LIBRARY(entry, counted_kernel)
