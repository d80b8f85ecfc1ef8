// Control: right in every call. Passes.
#include "hostile.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  return faulty::run_silu(call, faulty::silu_args(x, out));
}

HOSTILE_LIBRARY(entry, faulty::silu_kernel)
