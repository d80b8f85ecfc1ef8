// Squares and their sum are kept in fp16: they overflow on large inputs and stop growing on long rows.
// Slot: norm.rmsnorm. Caught by: number.reference. Source: slots.md 5.2.
#include "faulty.cuh"

static __global__ void half_rmsnorm_kernel(faulty::Rmsnorm a) {
  __shared__ __half partial[faulty::kThreads];
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    __half sum = __float2half_rn(0.0f);
    for (std::int64_t c = threadIdx.x; c < a.x.columns; c += faulty::kThreads) {
      const __half f = __float2half_rn(a.x.cell(row, c));
      sum = __hadd(sum, __hmul(f, f));
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    sum = partial[0];
    for (int i = 1; i < faulty::kThreads; ++i) sum = __hadd(sum, partial[i]);
    faulty::store_row(a, row, faulty::scale_of(__half2float(sum), a.x.columns, a.eps));
    __syncthreads();
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows > 0) half_rmsnorm_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, half_rmsnorm_kernel)
