#include "harness/compare/bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "harness/compare/values.hpp"
#include "harness/compare/wrong_cells.hpp"

namespace assay {

double unit_roundoff(DType dtype) noexcept {
  switch (dtype) {
    case DType::bf16:
      return 0x1p-8;
    case DType::f16:
      return 0x1p-11;
    case DType::f32:
      return 0x1p-24;
    case DType::f64:
      return 0x1p-53;
    default:
      return 0.0;
  }
}

double underflow_bound(DType dtype) noexcept {
  switch (dtype) {
    case DType::f16:
      return 0x1p-25;
    case DType::bf16:
    case DType::f32:
      return 0x1p-126;
    case DType::f64:
      return 0x1p-1022;
    default:
      return 0.0;
  }
}

double bound_of(const BoundRule& rule, double expected, double magnitude) noexcept {
  return 1.05 * (unit_roundoff(rule.output) * std::fabs(expected) + underflow_bound(rule.output) +
                 rule.k * 0x1p-23 * magnitude);
}

Comparison compare_bound(const BoundRule& rule, const TensorView& actual, const TensorView& expected,
                         const TensorView& magnitude) {
  Comparison result;
  if (actual.shape != expected.shape || magnitude.shape != expected.shape) {
    result.max_abs = result.max_rel = std::numeric_limits<double>::infinity();
    result.reason = "the output has another shape than the expected one";
    return result;
  }
  const Values actual_values(actual), expected_values(expected), magnitudes(magnitude);
  const std::span<const double> a = actual_values.span(), e = expected_values.span(), m = magnitudes.span();
  WrongCells wrong;
  double graded = 0;
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (std::isnan(e[i]) || std::isnan(m[i])) {
      result.fault = CaseFault::expected_not_finite;
      result.reason = "the expected output holds NaN";
      return result;
    }
    if (std::isinf(e[i])) continue;
    graded += 1;
    const double error = std::fabs(a[i] - e[i]);
    const double bound = bound_of(rule, e[i], m[i]);
    const double seen = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
    result.max_abs = std::max(result.max_abs, seen);
    result.max_rel = std::max(result.max_rel, seen / (std::fabs(e[i]) + 1e-12));
    if (!(error <= bound)) wrong.add(static_cast<std::int64_t>(i), a[i], e[i], bound);
  }
  wrong.finish(result, expected.shape);
  result.score = graded == 0 ? 1.0 : (graded - static_cast<double>(result.wrong)) / graded;
  result.passed = result.wrong == 0;
  if (!result.passed)
    result.reason = std::to_string(result.wrong) + " of " + std::to_string(a.size()) +
                    " cells err more than rounding and fp32 accumulation explain: " + result.pattern;
  return result;
}

}  // namespace assay
