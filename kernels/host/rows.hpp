// rows.hpp: a tensor as rows of stored floats, small enough to travel in a launch's argument block.
//
// Promises: every layout that a DLTensor can describe (any rank >= 1, any strides, 64-bit offsets), float, fp16 and
// bf16 cells, round to nearest even on the way out. Keeps no pointer to the DLTensor. Checks no extents: entries do.
// Who uses it: kernels/host/*.cc, and kernels/faulty, whose kernels are right but for one property.
//
//   Rows rows = rows_of(x);
//   const Half* cells = rows.at<Half>(row);
//   float value = to_float(cells[column * rows.step]);
#pragma once

#include "assay/abi.h"

namespace host_kernels {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

inline float float_of(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t bits_of(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float to_float(float cell) { return cell; }
inline float to_float(Bfloat cell) { return float_of(static_cast<uint32_t>(cell.bits) << 16); }
inline float to_float(Half cell) {
  const uint32_t sign = (cell.bits & 0x8000u) << 16, magnitude = (cell.bits & 0x7fffu) << 13;
  // 2^112 moves the exponent bias from 15 to 127, subnormals included; infinities and NaNs keep their mantissa.
  if (magnitude >= 0x0f800000u) return float_of(sign | 0x7f800000u | magnitude);
  return float_of(sign | bits_of(float_of(magnitude) * float_of(0x77800000u)));
}

inline void store(float& cell, float value) { cell = value; }
inline void store(Bfloat& cell, float value) {
  const uint32_t bits = bits_of(value);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  cell.bits = static_cast<uint16_t>(nan ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
inline void store(Half& cell, float value) {
  const uint32_t sign = (bits_of(value) >> 16) & 0x8000u, magnitude = bits_of(value) & 0x7fffffffu;
  uint32_t half;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;
  } else if (magnitude >= 0x477ff000u) {  // 65520 and above round to infinity
    half = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // subnormal: adding one half rounds at 2^-24, the last place of fp16
    half = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    half = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  cell.bits = static_cast<uint16_t>(sign | half);
}

// Leading dimensions of extent 1 are dropped, and the extents of the others multiply to less than 2^63: 62 places are
// enough for every rank.
constexpr int max_leads = 62;

struct Rows {
  void* data;
  int64_t step;  // elements from one column to the next
  int32_t leads;
  int64_t extents[max_leads], strides[max_leads];  // innermost first

  [[nodiscard]] int64_t offset(int64_t row) const {
    int64_t elements = 0;
    for (int lead = 0; lead < leads; ++lead) {
      elements += row % extents[lead] * strides[lead];
      row /= extents[lead];
    }
    return elements;
  }
  template <class Cell>
  [[nodiscard]] Cell* at(int64_t row) const {
    return static_cast<Cell*>(data) + offset(row);
  }
};

inline int64_t columns_of(const DLTensor* tensor) { return tensor->shape[tensor->ndim - 1]; }

inline int64_t row_count(const DLTensor* tensor) {
  int64_t rows = 1;
  for (int dim = 0; dim + 1 < tensor->ndim; ++dim) rows *= tensor->shape[dim];
  return rows;
}

template <class T>
const T* data_of(const DLTensor* t) {
  return reinterpret_cast<const T*>(static_cast<const char*>(t->data) + t->byte_offset);
}

// For tensors with at least one row.
inline Rows rows_of(const DLTensor* tensor) {
  Rows rows{};
  rows.data = static_cast<char*>(tensor->data) + tensor->byte_offset;
  rows.step = tensor->strides[tensor->ndim - 1];
  for (int dim = tensor->ndim - 2; dim >= 0; --dim) {
    if (tensor->shape[dim] == 1) continue;
    rows.extents[rows.leads] = tensor->shape[dim];
    rows.strides[rows.leads++] = tensor->strides[dim];
  }
  return rows;
}

enum class Cells : int32_t { other, f32, f16, bf16 };

inline Cells cells_of(const DLTensor* tensor) {
  const DLDataType type = tensor->dtype;
  if (type.lanes != 1) return Cells::other;
  if (type.code == kDLFloat && type.bits == 32) return Cells::f32;
  if (type.code == kDLFloat && type.bits == 16) return Cells::f16;
  if (type.code == kDLBfloat && type.bits == 16) return Cells::bf16;
  return Cells::other;
}

// Four rows a block, and two blocks as soon as there are two rows: blocks run in any order, and one block hides that.
inline uint32_t blocks_for(int64_t rows) {
  const int64_t blocks = rows < 8 ? (rows < 2 ? rows : 2) : (rows + 3) / 4;
  return static_cast<uint32_t>(blocks < 1024 ? blocks : 1024);
}

struct RowRange {
  int64_t begin, end;
};

inline RowRange rows_of_block(int64_t rows, uint32_t block, uint32_t blocks) {
  const int64_t each = rows / blocks, more = rows % blocks;
  const int64_t begin = block * each + (block < more ? block : more);
  return {begin, begin + each + (block < more ? 1 : 0)};
}

inline assay_status fail(const assay_call* call, assay_status status, const char* text) {
  if (call->error == nullptr || call->error_bytes == 0) return status;
  size_t length = 0;
  for (; text[length] != '\0' && length + 1 < call->error_bytes; ++length) call->error[length] = text[length];
  call->error[length] = '\0';
  return status;
}

}  // namespace host_kernels
