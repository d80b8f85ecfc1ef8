// The table of libassay_host_kernels.so.
#include "kernels/host/variants.hpp"

extern "C" const assay_library* assay_get_library(uint32_t harness_abi_version) {
  static const assay_variant* const variants[] = {&host_kernels::silu_and_mul, &host_kernels::rmsnorm,
                                                &host_kernels::attention, &host_kernels::attention_decode,
                                                &host_kernels::msa_block_score, &host_kernels::msa_prefill_block_score,
                                                &host_kernels::fused_experts, &host_kernels::fused_experts_m3,
                                                &host_kernels::fused_experts_nvfp4,
                                                &host_kernels::fused_experts_nvfp4_narrow,
                                                &host_kernels::all_reduce, &host_kernels::all_reduce_one_shot,
                                                &host_kernels::ar_residual_rmsnorm,
                                                &host_kernels::ar_residual_rmsnorm_fused,
                                                &host_kernels::moe_finalize_ar_rmsnorm,
                                                &host_kernels::moe_finalize_ar_rmsnorm_fused,
                                                &host_kernels::fused_experts_reduce,
                                                &host_kernels::fused_experts_reduce_m3,
                                                &host_kernels::fused_experts_reduce_nvfp4,
                                                &host_kernels::fused_experts_reduce_nvfp4_narrow,
                                                &host_kernels::silu_and_mul_few, &host_kernels::silu_and_mul_vector,
                                                &host_kernels::all_reduce_many};
  static const assay_library library = {sizeof(assay_library),
                                        ASSAY_ABI_VERSION,
                                        "assay_host_kernels",
                                        "1.0",
                                        variants,
                                        sizeof variants / sizeof variants[0]};
  return harness_abi_version == ASSAY_ABI_VERSION ? &library : nullptr;
}
