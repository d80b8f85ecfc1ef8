// Control: leaves SiLU out in every call, and does nothing about it.
#include "hostile.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  return hostile::run_plain(call, faulty::silu_args(x, out));
}

HOSTILE_LIBRARY(entry, hostile::plain_kernel)
