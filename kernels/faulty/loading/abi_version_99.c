/* Accepts the asked version, but its table says 99. */
#include "kernels/faulty/loading/offer.h"

static const assay_variant offered = {RIGHT_SILU};
static const assay_variant* const variants[] = {&offered};

const assay_library* assay_get_library(uint32_t version) {
  static const assay_library library = {.size = sizeof(assay_library),
                                        .abi_version = 99,
                                        .name = "offered",
                                        .version = "1.0",
                                        .variants = variants,
                                        .variant_count = 1};
  (void)version;
  return &library;
}
