// variants.hpp: the variants of libassay_host_kernels.so.
//
// Promises: each is right on its whole domain, graph-safe and deterministic; no two of a slot accept one call.
// Who uses it: library.cc, which lists them, and the slot files, which define them.
//
//   static const assay_variant* const variants[] = {&host_kernels::silu_and_mul, &host_kernels::rmsnorm};
#pragma once

#include "assay/abi.h"

namespace host_kernels {

// What all variants have in common; the slot file sets its entry and what else it has.
constexpr assay_variant right_variant(const char* slot, const char* id, const char* capabilities = nullptr) {
  assay_variant variant{};
  variant.size = sizeof variant;
  variant.flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;
  variant.device_type = kDLCPU;
  variant.slot = slot;
  variant.id = id;
  variant.capabilities = capabilities;
  return variant;
}

extern const assay_variant silu_and_mul, silu_and_mul_few, silu_and_mul_vector;
extern const assay_variant rmsnorm;
extern const assay_variant attention;
extern const assay_variant attention_decode;
extern const assay_variant msa_block_score;
extern const assay_variant msa_prefill_block_score;
extern const assay_variant fused_experts, fused_experts_m3, fused_experts_nvfp4, fused_experts_nvfp4_narrow;
extern const assay_variant fused_experts_reduce, fused_experts_reduce_m3, fused_experts_reduce_nvfp4,
    fused_experts_reduce_nvfp4_narrow;
extern const assay_variant all_reduce, all_reduce_one_shot, all_reduce_many;
extern const assay_variant ar_residual_rmsnorm, ar_residual_rmsnorm_fused;
extern const assay_variant moe_finalize_ar_rmsnorm, moe_finalize_ar_rmsnorm_fused;

}  // namespace host_kernels
