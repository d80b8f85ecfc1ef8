/* Two variants of one slot have one id. Their domains are disjoint, so that nothing else is wrong. */
#include "kernels/faulty/loading/offer.h"

static const assay_variant few = {RIGHT_SILU, .capabilities = "{\"num_tokens\": {\"max\": 16}}"};
static const assay_variant many = {RIGHT_SILU, .capabilities = "{\"num_tokens\": {\"min\": 17}}"};
static const assay_variant* const variants[] = {&few, &many};
EXPORT(RIGHT_LIBRARY)
