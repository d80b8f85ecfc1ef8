// sums.cuh: a row as it lies in a tensor, and a sum that is stored as it is.
//
// Who uses it: the slots that add nothing to the sum, and those that take a rank's part from memory (reduction.cuh).
#pragma once

#include "kernels/cuda/peer/reduction.cuh"

namespace assay_cuda {

template <class T>
bool row_cells_of(const DLTensor& tensor, RowCells* out) {
  if (!rows_of(tensor, &out->rows)) return false;
  out->aligned = rows_aligned(out->rows, sizeof(typename T::Cell));
  return true;
}

template <class T>
struct CopiedRow {
  using Wire = T;
  RowCells x;

  template <int kCells>
  __device__ void part(std::int64_t row, int first, int columns, typename T::Cell (&cells)[kCells]) const {
    x.load<T>(row, first, columns, cells);
  }
};

// Shares travel rounded: nothing is done to them after that.
template <class T>
struct StoredSum {
  using Cell = T;
  using Share = T;
  RowCells out;

  template <class Sums>
  __device__ void take(std::int64_t row, int columns, const Sums& sums) const {
    constexpr int kCells = kGroup<T>;
    for (int group = static_cast<int>(threadIdx.x); group * kCells < columns; group += static_cast<int>(blockDim.x)) {
      float sum[kCells];
      sums(group, sum);
      typename T::Cell cells[kCells];
#pragma unroll
      for (int c = 0; c < kCells; ++c) cells[c] = T::narrow(sum[c]);
      out.store<T>(row, group * kCells, columns, cells);
    }
  }
};

}  // namespace assay_cuda
