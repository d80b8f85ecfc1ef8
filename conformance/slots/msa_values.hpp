// msa_values.hpp: single cells and rows of a float tensor that a probe overwrites after the bulk has been filled.
//
// Promises: contiguous host tensors of any float dtype, seen as rows of their last extent; values are rounded once.
// Who uses it: the two block-score slots, whose probes put few chosen keys among many drawn ones.
//
//   const ProbeRows keys(view);
//   keys.zero(slot);
//   keys.set(slot, feature, 100.0);
#pragma once

#include <cstdint>
#include <cstring>

#include "assay/slot.hpp"
#include "harness/tensor/philox.hpp"

namespace assay::probes {

struct ProbeRows {
  std::byte* data;
  DType dtype;
  std::int64_t count, width;  // rows and their cells

  explicit ProbeRows(const TensorView& view)
      : data(static_cast<std::byte*>(view.data)),
        dtype(view.dtype),
        count(view.shape.back() == 0 ? 0 : view.size() / view.shape.back()),
        width(view.shape.back()) {}

  [[nodiscard]] std::byte* row(std::int64_t index) const {
    return data + static_cast<std::size_t>(index * width) * size_of(dtype);
  }
  [[nodiscard]] std::size_t row_bytes() const { return static_cast<std::size_t>(width) * size_of(dtype); }
  void set(std::int64_t index, std::int64_t column, double value) const {
    store_value(data, dtype, index * width + column, value);
  }
  [[nodiscard]] double get(std::int64_t index, std::int64_t column) const {
    return value_at(data, dtype, index * width + column);
  }
  void zero(std::int64_t index) const { std::memset(row(index), 0, row_bytes()); }
  void copy(std::int64_t to, std::int64_t from) const { std::memcpy(row(to), row(from), row_bytes()); }
};

enum class Sign : std::uint8_t { plus, minus };

// Base values of a large scale, all of one sign: products of two such tensors are far from every masking constant on
// one side of zero. fp16 stays within its range.
inline void fill_one_sided(const TensorView& view, std::uint64_t key, Sign sign) {
  fill_tensor(view, {.dtype = view.dtype, .key = key, .scale = view.dtype == DType::f16 ? 1e3 : 1e15});
  const auto apply = [&]<class Word>(Word* cells) {
    constexpr Word top = Word{1} << (8 * sizeof(Word) - 1);
    for (std::int64_t i = 0; i < view.size(); ++i)
      cells[i] = static_cast<Word>(sign == Sign::minus ? cells[i] | top : cells[i] & static_cast<Word>(~top));
  };
  if (size_of(view.dtype) == 4)
    apply(static_cast<std::uint32_t*>(view.data));
  else
    apply(static_cast<std::uint16_t*>(view.data));
}

// One number in [0, n) of a key and two ordinals; 0 where n is not positive.
inline std::int64_t pick(std::uint64_t key, std::uint64_t a, std::uint64_t b, std::int64_t n) {
  if (n <= 1) return 0;
  return static_cast<std::int64_t>(derive_key(key, "pick", a, b) % static_cast<std::uint64_t>(n));
}

}  // namespace assay::probes
