// unpack.cuh: whether a tensor is contiguous, and the way from a sum, which NCCL leaves contiguous, to an output that
// may lie at a pitch or be of a narrower type. Who uses it: all_reduce.cu, fused_experts_reduce.cu.
#pragma once

#include "kernels/cuda/rows.cuh"

namespace assay_nccl {

inline std::int64_t cell_bytes(const DLTensor& t) { return t.dtype.bits / 8; }
inline std::int64_t cells_of(const DLTensor& t) {
  std::int64_t cells = 1;
  for (int d = 0; d < t.ndim; ++d) cells *= t.shape[d];
  return cells;
}
inline bool contiguous(const DLTensor& t) {
  std::int64_t step = 1;
  for (int d = t.ndim; d-- > 0; step *= t.shape[d])
    if (t.shape[d] > 1 && t.strides[d] != step) return false;
  return true;
}

struct UnpackArgs {
  const void* from;  // contiguous
  assay_cuda::Rows to;
};

// One row a block. S is the type of the sum, T the output's.
template <class S, class T>
__global__ void unpack_kernel(const __grid_constant__ UnpackArgs args) {
  const std::int64_t row = blockIdx.x;
  const auto* from = static_cast<const typename S::Cell*>(args.from) + row * args.to.columns;
  auto* to = reinterpret_cast<typename T::Cell*>(args.to.data) + args.to.start(row);
  for (std::int64_t i = threadIdx.x; i < args.to.columns; i += blockDim.x)
    to[i * args.to.column_step] = T::narrow(S::widen(from[i]));
}

template <class S, class T>
assay_status unpack(const assay_call* call, const void* from, const DLTensor& out) {
  UnpackArgs args{};
  args.from = from;
  if (!assay_cuda::rows_of(out, &args.to))
    return assay_cuda::fail(call, ASSAY_UNSUPPORTED, "more than 16 leading dimensions that do not merge");
  if (args.to.rows == 0 || args.to.columns == 0) return ASSAY_OK;
  return assay_cuda::launch(call, unpack_kernel<S, T>, dim3(static_cast<unsigned>(args.to.rows)), dim3(256), args);
}

}  // namespace assay_nccl
