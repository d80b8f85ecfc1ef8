/* The library's size is 0, so that none of its fields can be trusted. */
#include "kernels/faulty/loading/offer.h"

static const assay_variant offered = {RIGHT_SILU};
static const assay_variant* const variants[] = {&offered};
EXPORT(.size = 0, .abi_version = ASSAY_ABI_VERSION, .name = "offered", .version = "1.0", .variants = variants,
       .variant_count = 1)
