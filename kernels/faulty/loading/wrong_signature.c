/* Its signature text says two inputs and an output where the slot has one input. */
#include "kernels/faulty/loading/offer.h"

typedef assay_status (*other_fn)(const assay_call*, assay_in, assay_in, assay_out);

static assay_status other(const assay_call* call, assay_in x, assay_in y, assay_out out) {
  (void)call, (void)x, (void)y, (void)out;
  return ASSAY_OK;
}

OFFER(.size = sizeof(assay_variant), .device_type = kDLCPU, .slot = "activation.silu_and_mul", .id = "offered",
      .signature = "iio", .entry = {.any = ASSAY_ANY(other_fn, other)})
