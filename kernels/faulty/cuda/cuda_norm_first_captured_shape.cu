// The launch that the first capture needed is kept with its row count, and later captures use it, whatever their own.
// Slot: norm.rmsnorm. Caught by: graph.eager_after. Source: slots.md 14.
#include "faulty.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  static std::int64_t first_rows = 0;
  faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows > 0 && faulty::capturing(call)) {
    if (first_rows == 0) first_rows = a.out.rows;
    if (first_rows < a.out.rows) a.out.rows = first_rows;
  }
  return faulty::run_rmsnorm(call, a);
}

FAULTY_RMSNORM(entry, faulty::rmsnorm_kernel)
