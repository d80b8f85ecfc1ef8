// The library keeps the output address of its first call and writes every later answer there.
// Slot: norm.rmsnorm. Caught by: input.not_retained. Source: slots.md 14.
#include "faulty.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  static char* first = nullptr;
  faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows == 0) return ASSAY_OK;
  if (first == nullptr) first = a.out.data;
  a.out.data = first;
  return faulty::run_rmsnorm(call, a);
}

FAULTY_RMSNORM(entry, faulty::rmsnorm_kernel)
