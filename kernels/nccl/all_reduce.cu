// collective.all_reduce: out = sum over the group of x. NCCL reads and writes contiguous memory: an output at a pitch
// is summed in the workspace and copied out.
#include "comm.cuh"
#include "entries.hpp"
#include "unpack.cuh"

namespace assay_nccl {

using assay_cuda::BF16;
using assay_cuda::F16;
using assay_cuda::F32;

assay_status all_reduce_workspace(const assay_call* call, const DLTensor* const* tensors, std::uint32_t count,
                                  std::size_t* bytes) {
  if (count != 2) return fail(call, ASSAY_ERROR, "all_reduce: two tensors are expected");
  *bytes = contiguous(*tensors[1]) ? 0 : static_cast<std::size_t>(cells_of(*tensors[1]) * cell_bytes(*tensors[1]));
  return ASSAY_OK;
}

assay_status all_reduce(const assay_call* call, assay_in x, assay_out out) {
  ncclDataType_t type;
  if (!nccl_type(x->dtype, &type)) return fail(call, ASSAY_UNSUPPORTED, "all_reduce: not fp32, fp16 or bf16");
  if (!contiguous(*x)) return fail(call, ASSAY_UNSUPPORTED, "all_reduce: x is not contiguous");
  const bool direct = contiguous(*out);
  const assay_status status = add_up(call, x->data, direct ? out->data : call->workspace, cells_of(*x), type);
  if (status != ASSAY_OK || direct) return status;
  if (type == ncclFloat32) return unpack<F32, F32>(call, call->workspace, *out);
  if (type == ncclFloat16) return unpack<F16, F16>(call, call->workspace, *out);
  return unpack<BF16, BF16>(call, call->workspace, *out);
}

assay_status init_all_reduce(const assay_call* call, void** state) {
  *state = nullptr;
  for (auto kernel : {unpack_kernel<F32, F32>, unpack_kernel<F16, F16>, unpack_kernel<BF16, BF16>})
    if (const cudaError_t error = assay_cuda::preload(kernel); error != cudaSuccess)
      return fail(call, ASSAY_ERROR, cudaGetErrorString(error));
  return get_ready(call);
}

}  // namespace assay_nccl
