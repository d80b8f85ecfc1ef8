// libassay_nccl_kernels.so: right kernels for the collective slots on CUDA, over the NCCL of the call's group. Not
// declared deterministic: in which order NCCL adds up a cell depends on where it lies in the buffer.
#include "assay/abi.h"
#include "kernels/cuda/entries.hpp"
#include "kernels/nccl/entries.hpp"

namespace {

constexpr assay_variant variant_of(const char* slot, const char* id, assay_entry entry,
                                   decltype(assay_variant::init) init, decltype(assay_variant::workspace) workspace) {
  assay_variant v{};
  v.size = sizeof v;
  v.flags = ASSAY_GRAPH_SAFE;
  v.device_type = kDLCUDA;
  v.slot = slot;
  v.id = id;
  v.entry = entry;
  v.init = init;
  v.workspace = workspace;
  return v;
}

constexpr assay_variant all_reduce = variant_of("collective.all_reduce", "nccl", {.all_reduce = assay_nccl::all_reduce},
                                                assay_nccl::init_all_reduce, assay_nccl::all_reduce_workspace);

constexpr assay_variant ar_residual_rmsnorm =
    variant_of("collective.ar_residual_rmsnorm", "nccl", {.ar_residual_rmsnorm = assay_nccl::ar_residual_rmsnorm},
               assay_nccl::init_residual_rmsnorm, assay_nccl::ar_residual_rmsnorm_workspace);
constexpr assay_variant moe_finalize_ar_rmsnorm = variant_of(
    "collective.moe_finalize_ar_rmsnorm", "nccl", {.moe_finalize_ar_rmsnorm = assay_nccl::moe_finalize_ar_rmsnorm},
    assay_nccl::init_residual_rmsnorm, assay_nccl::moe_finalize_ar_rmsnorm_workspace);

// One code for three domains, as in kernels/cuda.
constexpr assay_variant experts_of(const char* id, const char* capabilities) {
  assay_variant v =
      variant_of("moe.fused_experts_reduce", id, {.fused_experts_reduce = assay_nccl::fused_experts_reduce},
                 assay_nccl::init_fused_experts_reduce, assay_nccl::fused_experts_reduce_workspace);
  v.capabilities = capabilities;
  v.prepare = assay_cuda::prepare_fused_experts;
  v.release = assay_cuda::release_fused_experts;
  return v;
}
constexpr assay_variant grouped_experts = experts_of("nccl.grouped", nullptr);
constexpr assay_variant m3_dense_experts = experts_of("nccl.m3_dense", R"({"model": "MiniMax-M3", "quant": "dense"})");
constexpr assay_variant nvfp4_experts =
    experts_of("nccl.nvfp4", R"({"model": "MiniMax-M3", "quant": "nvfp4", "dtype": ["bfloat16", "float16"]})");

constexpr const assay_variant* variants[] = {&all_reduce,      &ar_residual_rmsnorm, &moe_finalize_ar_rmsnorm,
                                             &grouped_experts, &m3_dense_experts,    &nvfp4_experts};
constexpr assay_library library = {sizeof(assay_library),
                                   ASSAY_ABI_VERSION,
                                   "assay_nccl_kernels",
                                   "1.0",
                                   variants,
                                   sizeof variants / sizeof variants[0]};

}  // namespace

const assay_library* assay_get_library(uint32_t harness_abi_version) {
  return harness_abi_version == ASSAY_ABI_VERSION ? &library : nullptr;
}
