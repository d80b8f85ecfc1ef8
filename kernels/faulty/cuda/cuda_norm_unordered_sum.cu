// The partial sums of a row are added by atomics in the order in which threads arrive, while the variant says
// DETERMINISTIC. A wait drawn from the clock makes the order as loose on an idle device as on a busy one.
// Slot: norm.rmsnorm. Caught by: relation.repeatable. Source: rules.md.
#include "faulty.cuh"

static __global__ void atomic_rmsnorm_kernel(faulty::Rmsnorm a) {
  __shared__ float total;
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    if (threadIdx.x == 0) total = 0.0f;
    __syncthreads();
    float sum = 0.0f;
    for (std::int64_t c = threadIdx.x; c < a.x.columns; c += faulty::kThreads)
      sum = fmaf(a.x.cell(row, c), a.x.cell(row, c), sum);
    __nanosleep(static_cast<unsigned>(clock64() >> 4) * (threadIdx.x * 2654435761u) % 2048u);
    atomicAdd(&total, sum);
    __syncthreads();
    faulty::store_row(a, row, faulty::scale_of(total, a.x.columns, a.eps));
    __syncthreads();
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows > 0) atomic_rmsnorm_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, atomic_rmsnorm_kernel)
