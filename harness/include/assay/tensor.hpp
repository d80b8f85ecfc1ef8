// assay/tensor.hpp: typed, strided views of memory, and tensors that own theirs.
//
// Promises: plain data, no libtorch, no CUDA types. Extents and strides count elements; sizes of memory say bytes.
// Who uses it: references, comparators, slot and rule authors.
//
//   Tensor t({2, 3}, DType::f64);             // owned, contiguous, zeroed, on the host
//   t.view().at<double>({1, 2}) = 4.0;
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

enum class DType : std::uint8_t { f32, f16, bf16, f64, i32, i64, u8 };
enum class DeviceType : std::uint8_t { host, cuda };

[[nodiscard]] std::size_t size_of(DType) noexcept;                // bytes of one element
[[nodiscard]] bool is_float(DType) noexcept;
[[nodiscard]] std::string_view name_of(DType) noexcept;           // "fp32", "fp16", "bf16", "fp64", "int32", "int64", "uint8"
[[nodiscard]] DType dtype_from(std::string_view name);            // the inverse; throws std::invalid_argument
[[nodiscard]] std::string_view name_of(DeviceType) noexcept;      // "host", "cuda"
[[nodiscard]] DeviceType device_from(std::string_view name);      // the inverse; throws std::invalid_argument

// 16-bit floats as bits. to_* round to nearest even; every NaN stays a NaN.
[[nodiscard]] float from_f16(std::uint16_t bits) noexcept;
[[nodiscard]] float from_bf16(std::uint16_t bits) noexcept;
[[nodiscard]] std::uint16_t to_f16(float) noexcept;
[[nodiscard]] std::uint16_t to_bf16(float) noexcept;

using Extents = std::vector<std::int64_t>;

[[nodiscard]] std::int64_t element_count(const Extents& shape) noexcept;   // 1 for rank 0
[[nodiscard]] Extents contiguous_strides(const Extents& shape);            // row-major
// Elements from the first to one past the last cell: 0 if empty, else 1 + sum((extent - 1) * stride).
[[nodiscard]] std::int64_t span_of(const Extents& shape, const Extents& strides) noexcept;

struct TensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  Extents shape, strides;
  DeviceType device = DeviceType::host;
  int ordinal = 0;

  [[nodiscard]] std::int64_t size() const noexcept { return element_count(shape); }
  [[nodiscard]] bool contiguous() const noexcept;
  [[nodiscard]] std::int64_t offset(const Extents& index) const noexcept;  // elements
  template <class T>
  [[nodiscard]] T& at(const Extents& index) const noexcept {
    return static_cast<T*>(data)[offset(index)];
  }
};

// Owns contiguous storage on one device.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Extents shape, DType dtype);                                // host, zeroed
  Tensor(Extents shape, DType dtype, std::shared_ptr<void> storage, DeviceType device, int ordinal);

  [[nodiscard]] const TensorView& view() const noexcept { return view_; }
  [[nodiscard]] bool defined() const noexcept { return storage_ != nullptr; }
  [[nodiscard]] std::int64_t size() const noexcept { return view_.size(); }
  template <class T>
  [[nodiscard]] std::span<T> values() const noexcept {               // host tensors only
    return {static_cast<T*>(view_.data), static_cast<std::size_t>(size())};
  }

 private:
  std::shared_ptr<void> storage_;
  TensorView view_;
};

// The value of one stored element as float64, exactly.
[[nodiscard]] double value_at(const void* data, DType dtype, std::int64_t element) noexcept;
// Stores a float64, rounding once to nearest even (integers: truncating).
void store_value(void* data, DType dtype, std::int64_t element, double value) noexcept;
// A contiguous host tensor of float64 with the view's logical cells in row-major order. Host views only.
[[nodiscard]] Tensor to_f64(const TensorView&);

}  // namespace assay
