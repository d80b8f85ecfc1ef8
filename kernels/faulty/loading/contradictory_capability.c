/* Its capabilities take captured calls alone, and it does not say that it is graph-safe. */
#include "kernels/faulty/loading/offer.h"

OFFER(.size = sizeof(assay_variant), .device_type = kDLCPU, .slot = "activation.silu_and_mul", .id = "contradictory",
      .entry = {.silu_and_mul = offered_silu}, .capabilities = "{\"graph_mode\": \"cuda_graph\"}")
