// entries.hpp: the entries of this library, one pair a slot: the kernel's entry and the loading of its code.
//
// Promises: entries enqueue on the call's stream and return; they neither allocate nor wait. preload_* return a
// cudaError_t as int, 0 when all kernels of the slot are on the current device.
// Who uses it: library.cc, which lists them; the .cu file of each slot, which defines them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/abi.h"

namespace assay_cuda {

assay_status silu_and_mul(const assay_call* call, assay_in x, assay_out out);
int preload_silu_and_mul();

assay_status rmsnorm(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps);
int preload_rmsnorm();

assay_status attention(const assay_call* call, assay_in q, assay_in k, assay_in v, assay_out out, double sm_scale,
                       std::int32_t causal);
int preload_attention();

assay_status attention_decode(const assay_call* call, assay_in q, assay_in k_cache, assay_in v_cache,
                              assay_in req_to_token, assay_in seq_lens, assay_in req_pool_indices, assay_in topk_idx,
                              assay_out out, double sm_scale, std::int64_t block_size);
assay_status attention_decode_workspace(const assay_call* call, const DLTensor* const* tensors, std::uint32_t count,
                                        std::size_t* bytes);
int preload_attention_decode();

assay_status msa_block_score(const assay_call* call, assay_in q, assay_in index_k, assay_in seq_lens,
                             std::int64_t block_size, assay_out out);
int preload_msa_block_score();

assay_status msa_prefill_block_score(const assay_call* call, assay_in q, assay_in index_k_cache, assay_in req_to_token,
                                     assay_in slot_ids, assay_in cu_seqlens, assay_in seq_lens, assay_in prefix_lens,
                                     std::int64_t max_seqlen_q, std::int64_t max_seqlen_k, std::int64_t block_size_q,
                                     std::int64_t block_size_k, std::int64_t topk, std::int64_t init_blocks,
                                     std::int64_t local_blocks, double scale, assay_in cu_seqblocks_q,
                                     std::int64_t max_seqblock_q, std::int64_t all_seqblock_q, assay_out out_topk);
assay_status msa_prefill_block_score_workspace(const assay_call* call, const DLTensor* const* tensors,
                                               std::uint32_t count, std::size_t* bytes);
int preload_msa_prefill_block_score();

assay_status fused_experts(const assay_call* call, assay_in x, assay_in topk_ids, assay_in topk_weights,
                           const void* prepared, assay_out out);
assay_status fused_experts_workspace(const assay_call* call, const DLTensor* const* tensors, std::uint32_t count,
                                     std::size_t* bytes);
assay_status prepare_fused_experts(const assay_call* call, const assay_moe_weights* weights, void** prepared);
assay_status release_fused_experts(const assay_call* call, void* prepared);
int preload_fused_experts();

}  // namespace assay_cuda
