// residual_norm.cuh: the sum plus a residual, and its RMSNorm, from one reading.
//
// Promises: out_residual = sum + residual, rounded once; out_norm from the unrounded value, in fp32; a row's bits
// follow from its values, its length and its type. Who uses it: ar_residual_rmsnorm.cu, moe_finalize_ar_rmsnorm.cu.
#pragma once

#include "kernels/cuda/peer/sums.cuh"

namespace assay_cuda {

// Over the threads of a block, whole warps; every thread gets the same bits.
__device__ inline float sum_over_block(float value) {
  __shared__ float partial[kMaxRowThreads / kWarpLanes];
  const unsigned lane = threadIdx.x % kWarpLanes, warps = blockDim.x / kWarpLanes;
  for (int other = kWarpLanes / 2; other > 0; other /= 2) value += __shfl_xor_sync(0xffffffffu, value, other);
  if (lane == 0) partial[threadIdx.x / kWarpLanes] = value;
  __syncthreads();
  value = lane < warps ? partial[lane] : 0.0f;
  for (int other = kWarpLanes / 2; other > 0; other /= 2) value += __shfl_xor_sync(0xffffffffu, value, other);
  __syncthreads();  // partial may be written again
  return value;
}

template <class T>
struct ResidualNorm {
  using Cell = T;
  using Share = F32;
  RowCells residual, weight, out_norm, out_residual;
  float eps;

  template <class Sums>
  __device__ void take(std::int64_t row, int columns, const Sums& sums) const {
    constexpr int kCells = kGroup<T>, kHeld = kHeldGroups<ResidualNorm>;
    float held[kHeld][kCells];
    typename T::Cell weights[kHeld][kCells];  // on their way while the squares are added up
    float squares = 0.0f;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int first = static_cast<int>(threadIdx.x + i * blockDim.x) * kCells;
      if (first >= columns) continue;
      typename T::Cell cells[kCells];
      residual.load<T>(row, first, columns, cells);
      sums(first / kCells, held[i]);
#pragma unroll
      for (int c = 0; c < kCells; ++c) {
        held[i][c] += T::widen(cells[c]);  // past the end: 0 + 0
        squares = fmaf(held[i][c], held[i][c], squares);
        cells[c] = T::narrow(held[i][c]);
      }
      out_residual.store<T>(row, first, columns, cells);
      weight.load<T>(0, first, columns, weights[i]);
    }
    const float scale = 1.0f / sqrtf(sum_over_block(squares) / static_cast<float>(columns) + eps);
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int first = static_cast<int>(threadIdx.x + i * blockDim.x) * kCells;
      if (first >= columns) continue;
      typename T::Cell cells[kCells];
#pragma unroll
      for (int c = 0; c < kCells; ++c) cells[c] = T::narrow(held[i][c] * scale * T::widen(weights[i][c]));
      out_norm.store<T>(row, first, columns, cells);
    }
  }
};

// Describes the tensors behind the sum; ASSAY_OK, or a status with its sentence.
template <class T>
assay_status describe_norm(const assay_call* call, assay_in residual, assay_in weight, double eps, assay_out out_norm,
                           assay_out out_residual, ResidualNorm<T>* norm) {
  norm->eps = static_cast<float>(eps);
  if (!row_cells_of<T>(*residual, &norm->residual) || !row_cells_of<T>(*weight, &norm->weight) ||
      !row_cells_of<T>(*out_norm, &norm->out_norm) || !row_cells_of<T>(*out_residual, &norm->out_residual))
    return fail(call, ASSAY_UNSUPPORTED, "more than 16 leading dimensions that do not merge");
  const Rows& r = norm->residual.rows;
  const auto alike = [&](const Rows& other) { return other.rows == r.rows && other.columns == r.columns; };
  if (norm->weight.rows.columns != r.columns || !alike(norm->out_norm.rows) || !alike(norm->out_residual.rows))
    return fail(call, ASSAY_ERROR, "residual, weight and outputs differ in shape");
  return ASSAY_OK;
}

}  // namespace assay_cuda
