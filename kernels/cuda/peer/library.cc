// libassay_cuda_peer_kernels.so: right kernels for the collective slots on CUDA that reduce over peer memory
// themselves, with neither NCCL nor multicast.
#include "kernels/cuda/peer/variants.hpp"

const assay_library* assay_get_library(uint32_t harness_abi_version) {
  using namespace assay_cuda;
  static const assay_variant* const variants[] = {
      &peer_all_reduce,           &peer_ar_residual_rmsnorm,     &peer_moe_finalize_ar_rmsnorm,
      &peer_fused_experts_reduce, &peer_fused_experts_reduce_m3, &peer_fused_experts_reduce_nvfp4};
  static const assay_library library = {sizeof(assay_library),
                                        ASSAY_ABI_VERSION,
                                        "assay_cuda_peer_kernels",
                                        "1.0",
                                        variants,
                                        sizeof variants / sizeof variants[0]};
  return harness_abi_version == ASSAY_ABI_VERSION ? &library : nullptr;
}
