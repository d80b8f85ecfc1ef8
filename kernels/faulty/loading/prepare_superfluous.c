/* Offers prepare and release for a slot that has no weights to prepare. */
#include "kernels/faulty/loading/offer.h"

static assay_status norm(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  (void)call, (void)x, (void)weight, (void)out, (void)eps;
  return ASSAY_OK;
}
static assay_status prepare(const assay_call* call, const assay_moe_weights* weights, void** prepared) {
  (void)call, (void)weights;
  *prepared = 0;
  return ASSAY_OK;
}
static assay_status release(const assay_call* call, void* prepared) {
  (void)call, (void)prepared;
  return ASSAY_OK;
}

OFFER(.size = sizeof(assay_variant), .device_type = kDLCPU, .slot = "norm.rmsnorm", .id = "offered",
      .entry = {.rmsnorm = norm}, .prepare = prepare, .release = release)
