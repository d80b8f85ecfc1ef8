/* The second of two variants is NULL. */
#include "kernels/faulty/loading/offer.h"

static const assay_variant offered = {RIGHT_SILU};
static const assay_variant* const variants[] = {&offered, 0};
EXPORT(RIGHT_LIBRARY)
