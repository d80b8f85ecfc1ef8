// Rows of an odd number of cells are stored in whole pairs, so that each block also writes the cell behind its row:
// padding, the next row's first cell (racing with its owner), or memory behind the tensor.
// Slot: norm.rmsnorm. Caught by: write.only_cells. Source: FAULT-003.
#include "faulty.cuh"

static __global__ void paired_rmsnorm_kernel(faulty::Rmsnorm a) {
  const std::int64_t columns = a.out.columns;
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    const float scale = faulty::row_scale(a, row);
    for (std::int64_t c = threadIdx.x; c < columns + columns % 2; c += blockDim.x) {
      const std::int64_t from = c < columns ? c : columns - 1;
      a.out.set(row, c, a.x.cell(row, from) * scale * a.weight.cell(0, from));
    }
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows > 0) paired_rmsnorm_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, paired_rmsnorm_kernel)
