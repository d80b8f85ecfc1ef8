// entries.hpp: the entries of this library. Each enqueues on the call's stream and returns; init_* are collective and
// wait.
// Who uses it: library.cc, which lists them; the .cu file of each slot, which defines them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/abi.h"

namespace assay_nccl {

assay_status all_reduce(const assay_call* call, assay_in x, assay_out out);
assay_status all_reduce_workspace(const assay_call* call, const DLTensor* const* tensors, std::uint32_t count,
                                  std::size_t* bytes);
assay_status init_all_reduce(const assay_call* call, void** state);

assay_status ar_residual_rmsnorm(const assay_call* call, assay_in x, assay_in residual, assay_in weight, double eps,
                                 assay_out out_norm, assay_out out_residual);
assay_status ar_residual_rmsnorm_workspace(const assay_call* call, const DLTensor* const* tensors, std::uint32_t count,
                                           std::size_t* bytes);
assay_status moe_finalize_ar_rmsnorm(const assay_call* call, assay_in gemm_out, assay_in row_map, assay_in scales,
                                     assay_in residual, assay_in weight, double eps, assay_out out_norm,
                                     assay_out out_residual);
assay_status moe_finalize_ar_rmsnorm_workspace(const assay_call* call, const DLTensor* const* tensors,
                                               std::uint32_t count, std::size_t* bytes);
assay_status init_residual_rmsnorm(const assay_call* call, void** state);

assay_status fused_experts_reduce(const assay_call* call, assay_in x, assay_in topk_ids, assay_in topk_weights,
                                  const void* prepared, assay_out out);
assay_status fused_experts_reduce_workspace(const assay_call* call, const DLTensor* const* tensors, std::uint32_t count,
                                            std::size_t* bytes);
assay_status init_fused_experts_reduce(const assay_call* call, void** state);

}  // namespace assay_nccl
