// Where rows lie at a pitch, the first cell of each gap between two rows is cleared.
// Slot: norm.rmsnorm. Caught by: write.only_cells. Source: slots.md 14.
#include "faulty.cuh"

static __global__ void padding_rmsnorm_kernel(faulty::Rmsnorm a) {
  const bool gaps = a.out.leading > 0 && a.out.stride[0] > a.out.columns;
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    faulty::store_row(a, row, faulty::row_scale(a, row));
    if (gaps && row < a.out.rows - 1 && threadIdx.x == 0) a.out.set(row, a.out.columns, 0.0f);
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows > 0) padding_rmsnorm_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, padding_rmsnorm_kernel)
