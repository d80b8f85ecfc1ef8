// moe.fused_experts_reduce: the rank's own experts (kernels/cuda/fused_experts.cu) up to fp32, the sum of that over the
// group, and one rounding. The fp32 sum lies in the workspace, behind the experts' own scratch.
#include "comm.cuh"
#include "entries.hpp"
#include "kernels/cuda/entries.hpp"
#include "unpack.cuh"

namespace assay_nccl {

using assay_cuda::BF16;
using assay_cuda::F16;
using assay_cuda::F32;

assay_status fused_experts_reduce_workspace(const assay_call* call, const DLTensor* const* tensors, std::uint32_t count,
                                            std::size_t* bytes) {
  const assay_status status = assay_cuda::fused_experts_workspace(call, tensors, count, bytes);
  if (status == ASSAY_OK) *bytes += static_cast<std::size_t>(cells_of(*tensors[3])) * sizeof(float);
  return status;
}

assay_status fused_experts_reduce(const assay_call* call, assay_in x, assay_in topk_ids, assay_in topk_weights,
                                  const void* prepared, assay_out out) {
  const std::int64_t cells = cells_of(*out);
  DLTensor sum = *out;
  std::int64_t strides[2] = {out->shape[1], 1};
  sum.dtype = {kDLFloat, 32, 1};
  sum.strides = strides;
  sum.data = static_cast<char*>(call->workspace) + call->workspace_bytes - cells * sizeof(float);
  assay_status status = assay_cuda::fused_experts(call, x, topk_ids, topk_weights, prepared, &sum);
  if (status == ASSAY_OK) status = add_up(call, sum.data, sum.data, cells, ncclFloat32);
  if (status != ASSAY_OK) return status;
  if (is(out->dtype, kDLFloat, 32)) return unpack<F32, F32>(call, sum.data, *out);
  if (is(out->dtype, kDLFloat, 16)) return unpack<F32, F16>(call, sum.data, *out);
  return unpack<F32, BF16>(call, sum.data, *out);  // fused_experts has refused every other type
}

assay_status init_fused_experts_reduce(const assay_call* call, void** state) {
  *state = nullptr;
  cudaError_t error = static_cast<cudaError_t>(assay_cuda::preload_fused_experts());
  for (auto kernel : {unpack_kernel<F32, F32>, unpack_kernel<F32, F16>, unpack_kernel<F32, BF16>})
    if (error == cudaSuccess) error = assay_cuda::preload(kernel);
  return error == cudaSuccess ? get_ready(call) : fail(call, ASSAY_ERROR, cudaGetErrorString(error));
}

}  // namespace assay_nccl
