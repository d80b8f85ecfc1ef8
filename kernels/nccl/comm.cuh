// comm.cuh: the call's communicator: sums over the group on the call's stream, and getting it ready in init.
//
// Promises: add_up enqueues one ncclAllReduce and returns; `from` may be `to`. get_ready returns when NCCL has
// connected the peers in every way that a slot's sizes ask for and has loaded its kernels: the first use of either
// waits for the device, and never returns while the call's stream is held by something that the host does later. Who
// uses it: the .cu files beside it.
#pragma once

#include <nccl.h>

#include "kernels/cuda/rows.cuh"

namespace assay_nccl {

using assay_cuda::fail;
using assay_cuda::is;

inline assay_status checked(const assay_call* call, ncclResult_t result) {
  return result == ncclSuccess ? ASSAY_OK : fail(call, ASSAY_ERROR, ncclGetErrorString(result));
}

// False: a type that no slot has.
inline bool nccl_type(DLDataType type, ncclDataType_t* out) {
  if (is(type, kDLFloat, 32)) return *out = ncclFloat32, true;
  if (is(type, kDLFloat, 16)) return *out = ncclFloat16, true;
  if (is(type, kDLBfloat, 16)) return *out = ncclBfloat16, true;
  return false;
}

inline assay_status add_up(const assay_call* call, const void* from, void* to, std::int64_t cells,
                           ncclDataType_t type) {
  return checked(call, ncclAllReduce(from, to, static_cast<std::size_t>(cells), type, ncclSum, call->group->nccl,
                                     call->cuda_stream));
}

inline assay_status get_ready(const assay_call* call) {
  constexpr std::size_t kMostBytes = std::size_t{8} << 20;
  if (call->group == nullptr || call->group->nccl == nullptr)
    return fail(call, ASSAY_ERROR, "the group has no NCCL communicator");
  void* buffer = nullptr;
  cudaError_t error = cudaMalloc(&buffer, kMostBytes);
  if (error == cudaSuccess) error = cudaMemsetAsync(buffer, 0, kMostBytes, call->cuda_stream);
  assay_status status = ASSAY_OK;
  const auto once = [&](std::size_t bytes, ncclDataType_t type, std::size_t cell) {
    if (error == cudaSuccess && status == ASSAY_OK)
      status = add_up(call, buffer, buffer, static_cast<std::int64_t>(bytes / cell), type);
  };
  // Small, middling and large: what NCCL connects follows the size. Types differ in their kernels only.
  for (const std::size_t bytes : {std::size_t{1} << 10, std::size_t{1} << 15, std::size_t{1} << 19, kMostBytes})
    once(bytes, ncclFloat32, 4);
  for (const ncclDataType_t type : {ncclFloat16, ncclBfloat16})
    for (const std::size_t bytes : {std::size_t{1} << 10, std::size_t{1} << 19}) once(bytes, type, 2);
  const cudaError_t ended = cudaStreamSynchronize(call->cuda_stream);
  const cudaError_t freed = cudaFree(buffer);
  for (const cudaError_t e : {error, ended, freed})
    if (status == ASSAY_OK && e != cudaSuccess) status = fail(call, ASSAY_ERROR, cudaGetErrorString(e));
  return status;
}

}  // namespace assay_nccl
