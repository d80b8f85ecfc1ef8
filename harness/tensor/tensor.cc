#include "assay/tensor.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "harness/tensor/half.hpp"
#include "harness/tensor/traverse.hpp"

namespace assay {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
  bool floating;
};

// In the order of the enumerators; tensor_test.cc checks that.
constexpr std::array<DTypeRow, 7> dtypes = {{{DType::f32, "fp32", 4, true},
                                             {DType::f16, "fp16", 2, true},
                                             {DType::bf16, "bf16", 2, true},
                                             {DType::f64, "fp64", 8, true},
                                             {DType::i32, "int32", 4, false},
                                             {DType::i64, "int64", 8, false},
                                             {DType::u8, "uint8", 1, false}}};

const DTypeRow& row_of(DType dtype) noexcept { return dtypes[static_cast<std::size_t>(dtype)]; }

template <class T>
T load(const void* data, std::int64_t element) noexcept {
  return static_cast<const T*>(data)[element];
}

// Rounds to odd: a float that, rounded once more to a shorter format, equals the direct rounding of the float64.
float sticky_float(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  if (back == value || value != value) return nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(back) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1U);
}

// Truncates, and saturates where C++ leaves the conversion undefined. NaN gives 0.
template <class T>
T truncate(double value) noexcept {
  if (value != value) return 0;
  constexpr auto low = std::numeric_limits<T>::min();
  constexpr auto high = std::numeric_limits<T>::max();
  if (value <= static_cast<double>(low)) return low;
  if (value >= static_cast<double>(high)) return high;
  return static_cast<T>(value);
}

template <class T, class Convert>
void widen(const TensorView& view, double* out, Convert convert) {
  const std::int64_t columns = view.shape.empty() ? 1 : view.shape.back();
  const std::int64_t step = view.shape.empty() ? 1 : view.strides.back();
  for_each_row(view.shape, view.strides, [&](std::int64_t, std::int64_t offset) {
    const T* row = static_cast<const T*>(view.data) + offset;
    for (std::int64_t c = 0; c < columns; ++c) *out++ = static_cast<double>(convert(row[c * step]));
  });
}

}  // namespace

std::size_t size_of(DType dtype) noexcept { return row_of(dtype).bytes; }
bool is_float(DType dtype) noexcept { return row_of(dtype).floating; }
std::string_view name_of(DType dtype) noexcept { return row_of(dtype).name; }

DType dtype_from(std::string_view name) {
  for (const DTypeRow& row : dtypes)
    if (row.name == name) return row.dtype;
  throw std::invalid_argument("unknown dtype '" + std::string(name) + "'");
}

std::string_view name_of(DeviceType device) noexcept { return device == DeviceType::host ? "host" : "cuda"; }

DeviceType device_from(std::string_view name) {
  if (name == "host") return DeviceType::host;
  if (name == "cuda") return DeviceType::cuda;
  throw std::invalid_argument("unknown device '" + std::string(name) + "'");
}

float from_f16(std::uint16_t bits) noexcept { return half::from_f16(bits); }
float from_bf16(std::uint16_t bits) noexcept { return half::from_bf16(bits); }
std::uint16_t to_f16(float value) noexcept { return half::to_f16(value); }
std::uint16_t to_bf16(float value) noexcept { return half::to_bf16(value); }

std::int64_t element_count(const Extents& shape) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

Extents contiguous_strides(const Extents& shape) {
  Extents strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= std::max<std::int64_t>(1, shape[d]);
  }
  return strides;
}

std::int64_t span_of(const Extents& shape, const Extents& strides) noexcept {
  std::int64_t span = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return 0;
    span += (shape[d] - 1) * strides[d];
  }
  return span;
}

bool TensorView::contiguous() const noexcept {
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return true;
    if (shape[d] != 1 && strides[d] != step) return false;
    step *= shape[d];
  }
  return true;
}

std::int64_t TensorView::offset(const Extents& index) const noexcept {
  std::int64_t elements = 0;
  for (std::size_t d = 0; d < index.size(); ++d) elements += index[d] * strides[d];
  return elements;
}

Tensor::Tensor(Extents shape, DType dtype) {
  const auto bytes = static_cast<std::size_t>(element_count(shape)) * size_of(dtype);
  // An empty tensor owns a byte, so that it is defined. calloc leaves large storage untouched until it is used.
  void* memory = std::calloc(bytes == 0 ? 1 : bytes, 1);
  if (memory == nullptr) throw std::bad_alloc();
  storage_ = std::shared_ptr<void>(memory, [](void* p) { std::free(p); });
  Extents strides = contiguous_strides(shape);
  view_ = {memory, dtype, std::move(shape), std::move(strides), DeviceType::host, 0};
}

Tensor::Tensor(Extents shape, DType dtype, std::shared_ptr<void> storage, DeviceType device, int ordinal)
    : storage_(std::move(storage)) {
  Extents strides = contiguous_strides(shape);
  view_ = {storage_.get(), dtype, std::move(shape), std::move(strides), device, ordinal};
}

double value_at(const void* data, DType dtype, std::int64_t element) noexcept {
  switch (dtype) {
    case DType::f32:
      return static_cast<double>(load<float>(data, element));
    case DType::f16:
      return static_cast<double>(half::from_f16(load<std::uint16_t>(data, element)));
    case DType::bf16:
      return static_cast<double>(half::from_bf16(load<std::uint16_t>(data, element)));
    case DType::f64:
      return load<double>(data, element);
    case DType::i32:
      return static_cast<double>(load<std::int32_t>(data, element));
    case DType::i64:
      return static_cast<double>(load<std::int64_t>(data, element));
    case DType::u8:
      return static_cast<double>(load<std::uint8_t>(data, element));
  }
  return 0.0;
}

void store_value(void* data, DType dtype, std::int64_t element, double value) noexcept {
  switch (dtype) {
    case DType::f32:
      static_cast<float*>(data)[element] = static_cast<float>(value);
      break;
    case DType::f16:
      static_cast<std::uint16_t*>(data)[element] = half::to_f16(sticky_float(value));
      break;
    case DType::bf16:
      static_cast<std::uint16_t*>(data)[element] = half::to_bf16(sticky_float(value));
      break;
    case DType::f64:
      static_cast<double*>(data)[element] = value;
      break;
    case DType::i32:
      static_cast<std::int32_t*>(data)[element] = truncate<std::int32_t>(value);
      break;
    case DType::i64:
      static_cast<std::int64_t*>(data)[element] = truncate<std::int64_t>(value);
      break;
    case DType::u8:
      static_cast<std::uint8_t*>(data)[element] = truncate<std::uint8_t>(value);
      break;
  }
}

Tensor to_f64(const TensorView& view) {
  if (view.device != DeviceType::host) throw std::invalid_argument("to_f64 reads host tensors only");
  Tensor result(view.shape, DType::f64);
  double* out = static_cast<double*>(result.view().data);
  switch (view.dtype) {
    case DType::f32:
      widen<float>(view, out, [](float v) { return static_cast<double>(v); });
      break;
    case DType::f16:
      widen<std::uint16_t>(view, out, half::from_f16);
      break;
    case DType::bf16:
      widen<std::uint16_t>(view, out, half::from_bf16);
      break;
    case DType::f64:
      widen<double>(view, out, [](double v) { return v; });
      break;
    case DType::i32:
      widen<std::int32_t>(view, out, [](std::int32_t v) { return static_cast<double>(v); });
      break;
    case DType::i64:
      widen<std::int64_t>(view, out, [](std::int64_t v) { return static_cast<double>(v); });
      break;
    case DType::u8:
      widen<std::uint8_t>(view, out, [](std::uint8_t v) { return static_cast<double>(v); });
      break;
  }
  return result;
}

}  // namespace assay
