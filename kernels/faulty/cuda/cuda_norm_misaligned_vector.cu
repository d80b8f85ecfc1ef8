// Rows are read in 16-byte accesses whatever their alignment; an odd pitch is a misaligned address, and the error is
// sticky.
// Slot: norm.rmsnorm. Caught by: verdict.attribution. Source: blame:device_fault.
#include "faulty.cuh"

static __global__ void vector_rmsnorm_kernel(faulty::Rmsnorm a) {
  const int lanes = 128 / a.x.type.bits;
  const std::int64_t groups = a.x.column_step == 1 ? a.x.columns / lanes : 0;
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    float sum = 0.0f;
    const char* cells = a.x.data + a.x.start(row) * (a.x.type.bits / 8);
    for (std::int64_t g = threadIdx.x; g < groups; g += faulty::kThreads) {
      uint4 raw = reinterpret_cast<const uint4*>(cells)[g];
      faulty::Rows group = a.x;
      group.data = reinterpret_cast<char*>(&raw);
      for (int i = 0; i < lanes; ++i) sum = fmaf(group.get(i), group.get(i), sum);
    }
    for (std::int64_t c = groups * lanes + threadIdx.x; c < a.x.columns; c += faulty::kThreads)
      sum = fmaf(a.x.cell(row, c), a.x.cell(row, c), sum);
    faulty::store_row(a, row, faulty::scale_of(faulty::block_sum(sum), a.x.columns, a.eps));
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows > 0) vector_rmsnorm_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, vector_rmsnorm_kernel)
