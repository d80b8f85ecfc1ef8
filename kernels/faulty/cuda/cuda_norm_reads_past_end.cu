// Each block prefetches the row behind its own, the last block too: reads outside the tensor that never reach the
// output, seen only where unmapped memory follows.
// Slot: norm.rmsnorm. Caught by: input.bounds. Source: rules.md.
#include "faulty.cuh"

static __global__ void prefetching_rmsnorm_kernel(faulty::Rmsnorm a) {
  const std::int64_t bytes = a.x.type.bits / 8;
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    const std::int64_t pitch = a.x.leading > 0 ? a.x.stride[0] : a.x.columns;
    const volatile char* next = a.x.data + (a.x.start(row) + pitch) * bytes;
    for (std::int64_t c = threadIdx.x; c < a.x.columns; c += faulty::kThreads) (void)next[c * bytes];
    faulty::store_row(a, row, faulty::row_scale(a, row));
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows > 0) prefetching_rmsnorm_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, prefetching_rmsnorm_kernel)
