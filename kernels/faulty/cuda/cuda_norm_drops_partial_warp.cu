// A block has one thread for every eight cells of a row, and its reduction covers whole warps only: hidden 64 is summed
// by nobody, hidden 2880 loses the last of its 360 threads.
// Slot: norm.rmsnorm. Caught by: number.reference. Source: FAULT-027.
#include "faulty.cuh"

static __global__ void warp_rmsnorm_kernel(faulty::Rmsnorm a) {
  __shared__ float partial[1024];
  const unsigned whole = blockDim.x / 32 * 32;
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    float sum = 0.0f;
    for (std::int64_t c = threadIdx.x; c < a.x.columns; c += blockDim.x)
      sum = fmaf(a.x.cell(row, c), a.x.cell(row, c), sum);
    partial[threadIdx.x] = sum;
    __syncthreads();
    sum = 0.0f;
    for (unsigned i = 0; i < whole; ++i) sum += partial[i];
    const float scale = faulty::scale_of(sum, a.x.columns, a.eps);
    for (std::int64_t c = threadIdx.x; c < a.out.columns; c += blockDim.x)
      a.out.set(row, c, a.x.cell(row, c) * scale * a.weight.cell(0, c));
    __syncthreads();
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  const std::int64_t wanted = (a.x.columns + 7) / 8;
  const unsigned threads = static_cast<unsigned>(wanted < 1024 ? wanted : 1024);
  if (a.out.rows > 0) warp_rmsnorm_kernel<<<faulty::blocks(a.out), threads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, warp_rmsnorm_kernel)
