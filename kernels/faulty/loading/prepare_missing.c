/* Offers the experts without the prepare that the slot requires. */
#include "kernels/faulty/loading/offer.h"

static assay_status experts(const assay_call* call, assay_in x, assay_in topk_ids, assay_in topk_weights,
                            const void* prepared, assay_out out) {
  (void)call, (void)x, (void)topk_ids, (void)topk_weights, (void)prepared, (void)out;
  return ASSAY_OK;
}

OFFER(.size = sizeof(assay_variant), .device_type = kDLCPU, .slot = "moe.fused_experts", .id = "offered",
      .entry = {.fused_experts = experts})
