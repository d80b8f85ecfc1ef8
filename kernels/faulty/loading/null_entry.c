/* The variant has no entry. */
#include "kernels/faulty/loading/offer.h"

OFFER(.size = sizeof(assay_variant), .device_type = kDLCPU, .slot = "activation.silu_and_mul", .id = "offered")
