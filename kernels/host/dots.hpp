// dots.hpp: dot products of stored floats, and what the kernels that score keys need to know of a tensor.
//
// Promises: sums in float64 over eight lanes, whose order depends on the length alone. Any strides.
// Who uses it: the two block-score kernels.
//
//   const double score = dot(query, query_step, key, key_step, head_dim);
#pragma once

#include "kernels/host/rows.hpp"

namespace host_kernels {

inline double value_of(double cell) { return cell; }
template <class Cell>
double value_of(Cell cell) {
  return to_float(cell);
}

template <class Left, class Right>
double dot(const Left* left, int64_t left_step, const Right* right, int64_t right_step, int64_t count) {
  constexpr int lanes = 8;
  double sums[lanes] = {};
  int64_t i = 0;
  if (left_step == 1 && right_step == 1) {
    for (; i + lanes <= count; i += lanes)
      for (int lane = 0; lane < lanes; ++lane) sums[lane] += value_of(left[i + lane]) * value_of(right[i + lane]);
  }
  for (; i < count; ++i) sums[i % lanes] += value_of(left[i * left_step]) * value_of(right[i * right_step]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

inline bool is_int32(const DLTensor* tensor) {
  return tensor->dtype.lanes == 1 && tensor->dtype.code == kDLInt && tensor->dtype.bits == 32;
}

// Element `index` of a list of int32.
struct Integers {
  const int32_t* data;
  int64_t step;
  int64_t operator[](int64_t index) const { return data[index * step]; }
};

inline Integers integers_of(const DLTensor* list) {
  return {reinterpret_cast<const int32_t*>(static_cast<const char*>(list->data) + list->byte_offset), list->strides[0]};
}

}  // namespace host_kernels
