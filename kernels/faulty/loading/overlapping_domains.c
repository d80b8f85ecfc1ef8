/* Two variants of one slot both accept 16 tokens. */
#include "kernels/faulty/loading/offer.h"

#define ROW .size = sizeof(assay_variant), .device_type = kDLCPU, .slot = "activation.silu_and_mul"
static const assay_variant few = {ROW, .id = "few", .entry = {.silu_and_mul = offered_silu},
                                  .capabilities = "{\"num_tokens\": {\"max\": 16}}"};
static const assay_variant many = {ROW, .id = "many", .entry = {.silu_and_mul = offered_silu},
                                   .capabilities = "{\"num_tokens\": {\"min\": 16}}"};
static const assay_variant* const variants[] = {&few, &many};
EXPORT(RIGHT_LIBRARY)
