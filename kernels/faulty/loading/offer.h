/* offer.h: a right offer of activation.silu_and_mul, of which each file beside breaks one thing.
 *
 * Promises: OFFER(row) exports a library with the one variant whose fields are given, in C11. Nothing is ever run:
 * loading ends before that.
 * Who uses it: the C files beside.
 *
 *   OFFER({RIGHT_SILU, .capabilities = "{"})
 */
#ifndef ASSAY_KERNELS_FAULTY_LOADING_OFFER_H
#define ASSAY_KERNELS_FAULTY_LOADING_OFFER_H

#include "assay/abi.h"

static inline assay_status offered_silu(const assay_call* call, assay_in x, assay_out out) {
  (void)call, (void)x, (void)out;
  return ASSAY_OK;
}

#define RIGHT_SILU                                                                                                    \
  .size = sizeof(assay_variant), .flags = ASSAY_GRAPH_SAFE, .device_type = kDLCPU, .slot = "activation.silu_and_mul", \
  .id = "offered", .entry = {.silu_and_mul = offered_silu}

/* The library fields, for a file that breaks one of them. */
#define RIGHT_LIBRARY                                                                                   \
  .size = sizeof(assay_library), .abi_version = ASSAY_ABI_VERSION, .name = "offered", .version = "1.0", \
  .variants = variants, .variant_count = sizeof variants / sizeof variants[0]

#define EXPORT(...)                                          \
  const assay_library* assay_get_library(uint32_t version) { \
    static const assay_library library = {__VA_ARGS__};      \
    return version == ASSAY_ABI_VERSION ? &library : 0;      \
  }

#define OFFER(...)                                           \
  static const assay_variant offered = {__VA_ARGS__};        \
  static const assay_variant* const variants[] = {&offered}; \
  EXPORT(RIGHT_LIBRARY)

#endif
