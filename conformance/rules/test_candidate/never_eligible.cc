// Declares a domain that no call lies in: loaded everywhere, called nowhere (routing-and-targets.md R8).
#include "assay/abi.h"

namespace {

assay_status never_called(const assay_call*, assay_in, assay_out) { return ASSAY_ERROR; }

constexpr assay_variant variant_row() {
  assay_variant variant{};
  variant.size = sizeof variant;
  variant.flags = ASSAY_GRAPH_SAFE;
  variant.device_type = kDLCPU;
  variant.slot = "activation.silu_and_mul";
  variant.id = "never";
  variant.capabilities = "{\"num_tokens\": {\"min\": 1099511627776}}";
  variant.entry.silu_and_mul = never_called;
  return variant;
}

constexpr assay_variant variant = variant_row();
constexpr const assay_variant* variants[] = {&variant};
constexpr assay_library library = {sizeof(assay_library), ASSAY_ABI_VERSION, "never", "1.0", variants, 1};

}  // namespace

extern "C" const assay_library* assay_get_library(uint32_t version) {
  return version == ASSAY_ABI_VERSION ? &library : nullptr;
}
