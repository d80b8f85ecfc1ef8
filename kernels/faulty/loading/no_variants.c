/* Offers nothing. */
#include "kernels/faulty/loading/offer.h"

EXPORT(.size = sizeof(assay_library), .abi_version = ASSAY_ABI_VERSION, .name = "offered", .version = "1.0")
