/* Offers a slot that is in no catalogue. */
#include "kernels/faulty/loading/offer.h"

OFFER(.size = sizeof(assay_variant), .device_type = kDLCPU, .slot = "activation.silu_and_mull", .id = "offered",
      .entry = {.silu_and_mul = offered_silu})
