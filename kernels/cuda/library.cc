// libassay_cuda_kernels.so: right kernels for the single-device slots on CUDA, in plain CUDA C++.
#include <cstdio>

#include "assay/abi.h"
#include "entries.hpp"

namespace {

assay_status loaded(const assay_call* call, void** state, int error) {
  *state = nullptr;
  if (error == 0) return ASSAY_OK;
  if (call->error != nullptr && call->error_bytes != 0)
    std::snprintf(call->error, call->error_bytes, "loading kernels: cudaError_t %d", error);
  return ASSAY_ERROR;
}

assay_status init_silu_and_mul(const assay_call* call, void** state) {
  return loaded(call, state, assay_cuda::preload_silu_and_mul());
}

assay_status init_rmsnorm(const assay_call* call, void** state) {
  return loaded(call, state, assay_cuda::preload_rmsnorm());
}

assay_status init_attention(const assay_call* call, void** state) {
  return loaded(call, state, assay_cuda::preload_attention());
}

assay_status init_attention_decode(const assay_call* call, void** state) {
  return loaded(call, state, assay_cuda::preload_attention_decode());
}

assay_status init_msa_block_score(const assay_call* call, void** state) {
  return loaded(call, state, assay_cuda::preload_msa_block_score());
}

assay_status init_msa_prefill_block_score(const assay_call* call, void** state) {
  return loaded(call, state, assay_cuda::preload_msa_prefill_block_score());
}

assay_status init_fused_experts(const assay_call* call, void** state) {
  return loaded(call, state, assay_cuda::preload_fused_experts());
}

constexpr assay_variant variant_of(const char* slot, assay_entry entry, decltype(assay_variant::init) init,
                                   decltype(assay_variant::workspace) workspace = nullptr) {
  assay_variant v{};
  v.size = sizeof v;
  v.flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;
  v.device_type = kDLCUDA;
  v.slot = slot;
  v.id = "cuda";
  v.entry = entry;
  v.workspace = workspace;
  v.init = init;
  return v;
}

constexpr assay_variant silu_and_mul =
    variant_of("activation.silu_and_mul", {.silu_and_mul = assay_cuda::silu_and_mul}, init_silu_and_mul);
constexpr assay_variant rmsnorm = variant_of("norm.rmsnorm", {.rmsnorm = assay_cuda::rmsnorm}, init_rmsnorm);
constexpr assay_variant attention = variant_of("attention.sdpa", {.attention = assay_cuda::attention}, init_attention);
constexpr assay_variant attention_decode =
    variant_of("attention.decode", {.attention_decode = assay_cuda::attention_decode}, init_attention_decode,
               assay_cuda::attention_decode_workspace);
constexpr assay_variant msa_block_score =
    variant_of("attention.msa_block_score", {.msa_block_score = assay_cuda::msa_block_score}, init_msa_block_score);
constexpr assay_variant msa_prefill_block_score =
    variant_of("attention.msa_prefill_block_score", {.msa_prefill_block_score = assay_cuda::msa_prefill_block_score},
               init_msa_prefill_block_score, assay_cuda::msa_prefill_block_score_workspace);

// One code for three domains: dense weights with SiLU, and the two forms of MiniMax-M3.
constexpr assay_variant fused_experts_of(const char* id, const char* capabilities) {
  assay_variant v = variant_of("moe.fused_experts", {.fused_experts = assay_cuda::fused_experts}, init_fused_experts,
                               assay_cuda::fused_experts_workspace);
  v.id = id;
  v.capabilities = capabilities;
  v.prepare = assay_cuda::prepare_fused_experts;
  v.release = assay_cuda::release_fused_experts;
  return v;
}
constexpr assay_variant grouped_experts = fused_experts_of("cuda.grouped", nullptr);
constexpr assay_variant m3_dense_experts =
    fused_experts_of("cuda.m3_dense", R"({"model": "MiniMax-M3", "quant": "dense"})");
constexpr assay_variant nvfp4_experts =
    fused_experts_of("cuda.nvfp4", R"({"model": "MiniMax-M3", "quant": "nvfp4", "dtype": ["bfloat16", "float16"]})");

constexpr const assay_variant* variants[] = {&silu_and_mul,     &rmsnorm,          &attention,
                                             &attention_decode, &msa_block_score,  &msa_prefill_block_score,
                                             &grouped_experts,  &m3_dense_experts, &nvfp4_experts};
constexpr assay_library library = {sizeof(assay_library),
                                   ASSAY_ABI_VERSION,
                                   "assay_cuda_kernels",
                                   "1.0",
                                   variants,
                                   sizeof variants / sizeof variants[0]};

}  // namespace

const assay_library* assay_get_library(uint32_t harness_abi_version) {
  return harness_abi_version == ASSAY_ABI_VERSION ? &library : nullptr;
}
