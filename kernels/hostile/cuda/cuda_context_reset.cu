// Resets the device that it shares with everybody in its process: memory, streams and graphs of others are gone.
#include "hostile.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const assay_status status = hostile::run_plain(call, faulty::silu_args(x, out));
  if (!faulty::capturing(call)) cudaDeviceReset();
  return status;
}

HOSTILE_LIBRARY(entry, hostile::plain_kernel)
