// harness/tensor/traverse.hpp: walks over the logical cells of a strided tensor, on plain numbers.
//
// Promises: rows and runs come in row-major order; nothing is allocated per cell. A row is one setting of all
// dimensions but the last; a run is a longest stretch of cells that are adjacent in memory.
// Who calls it: harness/tensor only.
//
//   for_each_row(shape, strides, [&](std::int64_t row, std::int64_t offset) { ... });
#pragma once

#include <algorithm>
#include <cstdint>

#include "assay/tensor.hpp"

namespace assay {

// Calls f(ordinal, element offset) for every index of the given dimensions, in row-major order.
template <class F>
void for_each_index(const Extents& shape, const Extents& strides, F&& f) {
  for (const std::int64_t extent : shape)
    if (extent == 0) return;
  Extents index(shape.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t ordinal = 0;; ++ordinal) {
    f(ordinal, offset);
    std::size_t d = shape.size();
    for (; d > 0; --d) {
      offset += strides[d - 1];
      if (++index[d - 1] < shape[d - 1]) break;
      offset -= strides[d - 1] * shape[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

// Rows: f(row, element offset of column 0). Columns lie strides.back() apart. Rank 0 is one row of one cell.
template <class F>
void for_each_row(const Extents& shape, const Extents& strides, F&& f) {
  if (shape.empty()) return f(std::int64_t{0}, std::int64_t{0});
  if (shape.back() == 0) return;
  for_each_index(Extents(shape.begin(), shape.end() - 1), Extents(strides.begin(), strides.end() - 1), f);
}

// Runs: f(first cell's row-major ordinal, its element offset, cells in the run).
template <class F>
void for_each_run(const Extents& shape, const Extents& strides, F&& f) {
  if (element_count(shape) == 0) return;
  std::int64_t length = 1;
  std::size_t outer = shape.size();
  while (outer > 0 && (shape[outer - 1] == 1 || strides[outer - 1] == length)) length *= shape[--outer];
  const Extents lead(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(outer));
  const Extents steps(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(outer));
  for_each_index(lead, steps, [&](std::int64_t ordinal, std::int64_t offset) { f(ordinal * length, offset, length); });
}

}  // namespace assay
