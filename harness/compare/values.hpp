// harness/compare/values.hpp: the logical cells of a host tensor as float64, row-major.
//
// Promises: a contiguous float64 tensor is read where it lies, any other is converted once. The view's memory outlives
// this object.
// Who calls it: harness/compare only.
//
//   const Values a(actual), e(expected);
//   for (std::size_t i = 0; i < e.span().size(); ++i) ...
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>

#include "assay/tensor.hpp"

namespace assay {

class Values {
 public:
  explicit Values(const TensorView& view) {
    if (view.device != DeviceType::host) throw std::invalid_argument("comparators read host tensors only");
    if (view.dtype == DType::f64 && view.contiguous()) {
      span_ = {static_cast<const double*>(view.data), static_cast<std::size_t>(view.size())};
      return;
    }
    converted_ = to_f64(view);
    span_ = converted_.values<double>();
  }
  [[nodiscard]] std::span<const double> span() const noexcept { return span_; }

 private:
  Tensor converted_;
  std::span<const double> span_;
};

}  // namespace assay
