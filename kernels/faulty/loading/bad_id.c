/* Its id has a character that ids may not have. */
#include "kernels/faulty/loading/offer.h"

OFFER(.size = sizeof(assay_variant), .device_type = kDLCPU, .slot = "activation.silu_and_mul", .id = "my kernel",
      .entry = {.silu_and_mul = offered_silu})
