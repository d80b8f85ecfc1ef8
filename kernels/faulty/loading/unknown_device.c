/* Offers a kernel for a device that no harness drives. */
#include "kernels/faulty/loading/offer.h"

OFFER(.size = sizeof(assay_variant), .device_type = kDLMetal, .slot = "activation.silu_and_mul", .id = "offered",
      .entry = {.silu_and_mul = offered_silu})
