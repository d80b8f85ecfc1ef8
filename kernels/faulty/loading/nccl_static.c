/* A collective on CUDA with NCCL's own code inside, as a static link leaves it: its communicators are not the group's. */
#include "kernels/faulty/loading/offer.h"

/* NCCL's first setting; only NCCL itself reads it. */
__attribute__((used)) static const char setting[] = "NCCL_COMM_ID";

OFFER(.size = sizeof(assay_variant), .flags = ASSAY_GRAPH_SAFE, .device_type = kDLCUDA,
      .slot = "collective.all_reduce", .id = "offered", .entry = {.all_reduce = offered_silu})
