// moe.fused_experts_reduce: the rank's own experts (kernels/cuda/fused_experts.cu), rounded once, and their sum over the
// group, in place where the output is contiguous.
#include "comm.cuh"
#include "entries.hpp"
#include "kernels/cuda/entries.hpp"
#include "unpack.cuh"

namespace assay_nccl {
namespace {

// Behind the experts' own scratch: the sum, where the output is at a pitch.
std::size_t sum_bytes(const DLTensor& out) {
  return contiguous(out) ? 0 : static_cast<std::size_t>(cells_of(out) * cell_bytes(out));
}

}  // namespace

assay_status fused_experts_reduce_workspace(const assay_call* call, const DLTensor* const* tensors,
                                            std::uint32_t count, std::size_t* bytes) {
  const assay_status status = assay_cuda::fused_experts_workspace(call, tensors, count, bytes);
  if (status == ASSAY_OK) *bytes += sum_bytes(*tensors[3]);
  return status;
}

assay_status fused_experts_reduce(const assay_call* call, assay_in x, assay_in topk_ids, assay_in topk_weights,
                                  const void* prepared, assay_out out) {
  ncclDataType_t type;
  if (!nccl_type(out->dtype, &type)) return fail(call, ASSAY_UNSUPPORTED, "fused_experts_reduce: the output's type");
  DLTensor local = *out;
  std::int64_t strides[2] = {out->shape[1], 1};
  if (const std::size_t bytes = sum_bytes(*out)) {
    local.data = static_cast<char*>(call->workspace) + call->workspace_bytes - bytes;
    local.strides = strides;
  }
  assay_status status = assay_cuda::fused_experts(call, x, topk_ids, topk_weights, prepared, &local);
  if (status == ASSAY_OK) status = add_up(call, local.data, local.data, cells_of(*out), type);
  return status != ASSAY_OK || local.data == out->data ? status : unpack(call, local.data, *out);
}

assay_status init_fused_experts_reduce(const assay_call* call, void** state) {
  *state = nullptr;
  cudaError_t error = static_cast<cudaError_t>(assay_cuda::preload_fused_experts());
  if (error == cudaSuccess) error = preload_unpack();
  if (error != cudaSuccess) return fail(call, ASSAY_ERROR, cudaGetErrorString(error));
  return get_ready(call);
}

}  // namespace assay_nccl
