// heads.hpp: what the two attention kernels share: (rows, heads, D) tensors in an argument block, and softmax online.
//
// Promises: any strides, 64-bit offsets; float arithmetic. OnlineSoftmax turns tiles of logits into weights whose sum
// it keeps; a tile of none leaves it as it is, and a row that saw no key has sum 0.
// Who uses it: attention.cc, attention_decode.cc; kernels/faulty/decode.hpp reads its tables so.
//
//   OnlineSoftmax softmax;                                   // for each row
//   const float keep = softmax.take(logits, count);          // logits become weights
//   ...sums of earlier tiles times keep, plus weights times values...; in the end divided by softmax.sum
#pragma once

#include "kernels/host/rows.hpp"

namespace host_kernels {

// Rows that are kept in a block's own memory have up to so many columns.
constexpr int64_t max_head_dim = 256;

struct Heads {
  void* data;
  int64_t row_stride, head_stride, step;

  template <class Cell>
  [[nodiscard]] Cell* at(int64_t row, int64_t head) const {
    return static_cast<Cell*>(data) + row * row_stride + head * head_stride;
  }
  template <class Cell>
  void load(int64_t row, int64_t head, int64_t columns, float* to) const {
    const Cell* cells = at<const Cell>(row, head);
    for (int64_t i = 0; i < columns; ++i) to[i] = to_float(cells[i * step]);
  }
};

inline Heads heads_of(const DLTensor* tensor) {
  return {static_cast<char*>(tensor->data) + tensor->byte_offset, tensor->strides[0], tensor->strides[1],
          tensor->strides[2]};
}

// A cell of an int32 table of rank 1 to 3.
struct Table {
  const int32_t* data;
  int64_t strides[3];

  [[nodiscard]] int64_t at(int64_t i, int64_t j = 0, int64_t k = 0) const {
    return data[i * strides[0] + j * strides[1] + k * strides[2]];
  }
};

inline Table table_of(const DLTensor* tensor) {
  Table table = {reinterpret_cast<const int32_t*>(static_cast<char*>(tensor->data) + tensor->byte_offset), {0, 0, 0}};
  for (int dim = 0; dim < tensor->ndim; ++dim) table.strides[dim] = tensor->strides[dim];
  return table;
}

// Eight sums, which the compiler keeps in one vector; the order of additions is the same for every row.
inline float dot(const float* x, const float* y, int64_t count) {
  float sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) sums[lane] += x[i + lane] * y[i + lane];
  }
  for (; i < count; ++i) sums[0] += x[i] * y[i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

struct OnlineSoftmax {
  float maximum = -__builtin_inff(), sum = 0;

  // Returns what sums over earlier tiles are worth now.
  float take(float* logits, int64_t count) {
    float highest = maximum;
    for (int64_t i = 0; i < count; ++i) highest = logits[i] > highest ? logits[i] : highest;
    if (highest == -__builtin_inff()) return 1;  // nothing seen yet: -inf minus -inf would be NaN
    const float keep = __builtin_expf(maximum - highest);
    sum *= keep;
    for (int64_t i = 0; i < count; ++i) sum += logits[i] = __builtin_expf(logits[i] - highest);
    maximum = highest;
    return keep;
  }
};

}  // namespace host_kernels
