/* A library for a GPU that no machine of ours has: whatever its entry would do, it is never called. */
#include <assay/abi.h>

static assay_status run(const assay_call *call, assay_in x, assay_out out) {
  (void)call, (void)x, (void)out;
  return ASSAY_ERROR;
}
static const assay_variant variant = {.size = sizeof variant, .device_type = kDLCUDA,
    .slot = "activation.silu_and_mul", .id = "gpu", .entry = {.silu_and_mul = run}};
static const assay_variant *const variants[] = {&variant};
static const assay_library library = {sizeof library, ASSAY_ABI_VERSION, "gpu", "1.0", variants, 1};
const assay_library *assay_get_library(uint32_t version) { return version == ASSAY_ABI_VERSION ? &library : 0; }
