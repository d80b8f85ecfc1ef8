/* The variant's size is 0, so that none of its fields can be trusted. */
#include "kernels/faulty/loading/offer.h"

static const assay_variant offered = {.size = 0,
                                      .device_type = kDLCPU,
                                      .slot = "activation.silu_and_mul",
                                      .id = "offered",
                                      .entry = {.silu_and_mul = offered_silu}};
static const assay_variant* const variants[] = {&offered};
EXPORT(RIGHT_LIBRARY)
