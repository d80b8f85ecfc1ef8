// unpack.cuh: tensors that are contiguous, and rows copied from contiguous memory to a tensor that is not.
// Who uses it: all_reduce.cu, fused_experts_reduce.cu, whose sums NCCL leaves contiguous.
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
  const void* from;
  assay_cuda::Rows to;
};

template <class Cell>
__global__ void unpack_kernel(const __grid_constant__ UnpackArgs args) {
  const std::int64_t row = blockIdx.x;
  const Cell* from = static_cast<const Cell*>(args.from) + row * args.to.columns;
  Cell* to = reinterpret_cast<Cell*>(args.to.data) + args.to.start(row);
  for (std::int64_t i = threadIdx.x; i < args.to.columns; i += blockDim.x) to[i * args.to.column_step] = from[i];
}

inline assay_status unpack(const assay_call* call, const void* from, const DLTensor& out) {
  UnpackArgs args{};
  args.from = from;
  if (!assay_cuda::rows_of(out, &args.to))
    return assay_cuda::fail(call, ASSAY_UNSUPPORTED, "more than 16 leading dimensions that do not merge");
  if (args.to.rows == 0 || args.to.columns == 0) return ASSAY_OK;
  const dim3 grid(static_cast<unsigned>(args.to.rows)), block(256);
  return cell_bytes(out) == 4 ? assay_cuda::launch(call, unpack_kernel<std::uint32_t>, grid, block, args)
                              : assay_cuda::launch(call, unpack_kernel<std::uint16_t>, grid, block, args);
}

inline cudaError_t preload_unpack() {
  const cudaError_t error = assay_cuda::preload(unpack_kernel<std::uint32_t>);
  return error != cudaSuccess ? error : assay_cuda::preload(unpack_kernel<std::uint16_t>);
}

}  // namespace assay_nccl
