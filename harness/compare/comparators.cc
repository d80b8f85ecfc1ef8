#include "harness/compare/comparators.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <stdexcept>

#include "harness/compare/topk.hpp"
#include "harness/compare/values.hpp"
#include "harness/compare/wrong_cells.hpp"
#include "harness/tensor/cells.hpp"

namespace assay {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string text(const char* format, double a, double b) {
  char line[160];
  std::snprintf(line, sizeof line, format, a, b);
  return line;
}

Comparison structural(std::string reason) {
  Comparison result;
  result.max_abs = result.max_rel = infinity;
  result.reason = std::move(reason);
  return result;
}

Comparison defective(CaseFault fault, std::string reason) {
  Comparison result;
  result.fault = fault;
  result.reason = std::move(reason);
  return result;
}

// NaN or infinity anywhere fails a float output as a whole, so that one unwritten (NaN) cell does.
Comparison not_finite(const TensorView& expected, std::span<const double> a, std::span<const double> e) {
  WrongCells wrong;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!std::isfinite(a[i])) wrong.add(static_cast<std::int64_t>(i), a[i], e[i], 0.0);
  Comparison result = structural("");
  wrong.finish(result, expected.shape);
  result.reason = std::to_string(result.wrong) + " cells are NaN or infinite: " + result.pattern;
  return result;
}

void measure_errors(Comparison& result, std::span<const double> a, std::span<const double> e) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double error = std::fabs(a[i] - e[i]);
    result.max_abs = std::max(result.max_abs, error);
    const double scale = std::fabs(e[i]) + 1e-12;
    if (error > result.max_rel * scale) result.max_rel = error / scale;  // rarely divides
  }
}

void grade_cells(Comparison& result, const Comparator& mode, const Tolerance& tolerance, const Extents& shape,
                 std::span<const double> a, std::span<const double> e, std::span<const double> magnitude) {
  WrongCells wrong;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double bound = tolerance.atol + tolerance.rtol * std::fabs(e[i]);
    if (!magnitude.empty()) bound = std::max(bound, mode.explained * magnitude[i]);
    if (std::fabs(a[i] - e[i]) > bound) wrong.add(static_cast<std::int64_t>(i), a[i], e[i], bound);
  }
  wrong.finish(result, shape);
  const auto n = static_cast<double>(a.size());
  result.score = (n - static_cast<double>(result.wrong)) / n;
  result.passed = mode.mode == Mode::allclose ? result.wrong == 0 : result.score >= mode.floor;
  if (result.passed) return;
  result.reason = std::to_string(result.wrong) + " of " + std::to_string(a.size()) + " cells differ: " + result.pattern;
  if (mode.mode == Mode::matched_ratio) result.reason += text("; share %.6g is under %.6g", result.score, mode.floor);
}

void grade_cosine(Comparison& result, const Comparator& mode, const Extents& shape, std::span<const double> a,
                  std::span<const double> e) {
  double product = 0, aa = 0, ee = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += a[i] * e[i];
    aa += a[i] * a[i];
    ee += e[i] * e[i];
  }
  if (ee == 0.0) {
    result = defective(CaseFault::vacuous, "the expected output is all zeros, which has no cosine");
    return;
  }
  const double norm_error = std::fabs(std::sqrt(aa) - std::sqrt(ee)) / std::sqrt(ee);
  result.score = aa == 0.0 ? 0.0 : product / (std::sqrt(aa) * std::sqrt(ee));
  const bool direction = result.score >= mode.floor;
  const bool length = mode.max_norm_error <= 0.0 || norm_error <= mode.max_norm_error;
  result.passed = direction && length;
  if (result.passed) return;
  WrongCells largest;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != e[i]) largest.add(static_cast<std::int64_t>(i), a[i], e[i], 0.0);
  largest.finish(result, shape);
  result.reason = !direction ? text("cosine %.6g is under %.6g", result.score, mode.floor)
                             : text("norm is off by %.6g of its size, more than %.6g", norm_error, mode.max_norm_error);
}

}  // namespace

Tolerance tolerance_for(DType run) noexcept {
  switch (run) {
    case DType::bf16:
      return {2e-2, 2e-2};
    case DType::f16:
      return {1e-2, 1e-2};
    case DType::f32:
      return {1e-5, 1e-5};
    default:
      return {1e-4, 1e-4};
  }
}

std::string_view name_of(Mode mode) noexcept {
  switch (mode) {
    case Mode::allclose:
      return "allclose";
    case Mode::matched_ratio:
      return "matched_ratio";
    case Mode::cosine:
      return "cosine";
    case Mode::topk_scores:
      return "topk_scores";
    case Mode::topk_indices:
      return "topk_indices";
  }
  return "";
}

Comparison compare(const Comparator& mode, const Tolerance& tolerance, const TensorView& actual,
                   const TensorView& expected, const TensorView* magnitude) {
  if (mode.mode == Mode::topk_indices) throw std::invalid_argument("index outputs go to compare_indices");
  if (expected.dtype != DType::f64) throw std::invalid_argument("an expected output is float64");
  if (actual.shape != expected.shape) return structural("the output has another shape than the expected one");
  Comparison result;
  if (expected.size() == 0) {
    result.passed = true;
    result.score = 1.0;
    return result;
  }
  const Values actual_values(actual), expected_values(expected);
  const std::span<const double> a = actual_values.span(), e = expected_values.span();
  if (mode.mode == Mode::topk_scores) return compare_scores(mode, expected.shape, a, e);
  const auto finite = [](double v) { return std::isfinite(v); };
  if (!std::all_of(e.begin(), e.end(), finite))
    return defective(CaseFault::expected_not_finite, "the expected output holds NaN or infinity");
  if (!std::all_of(a.begin(), a.end(), finite)) return not_finite(expected, a, e);
  measure_errors(result, a, e);
  if (mode.mode == Mode::cosine) {
    grade_cosine(result, mode, expected.shape, a, e);
    return result;
  }
  std::optional<Values> magnitudes;
  if (magnitude && mode.explained > 0.0) magnitudes.emplace(*magnitude);
  grade_cells(result, mode, tolerance, expected.shape, a, e, magnitudes ? magnitudes->span() : std::span<const double>());
  return result;
}

Comparison combine(std::span<const Comparison> each, std::size_t outputs) {
  if (each.size() != outputs || each.empty())
    return structural(std::to_string(each.size()) + " outputs where " + std::to_string(outputs) + " are due");
  const auto severity = [](const Comparison& c) { return c.passed ? 0 : c.fault != CaseFault::none ? 1 : 2; };
  // The candidate's failure speaks before a fault of the case, that before a pass; then the lower score.
  Comparison result = *std::max_element(each.begin(), each.end(), [&](const Comparison& x, const Comparison& y) {
    return severity(x) != severity(y) ? severity(x) < severity(y) : x.score > y.score;
  });
  for (const Comparison& one : each) {
    result.score = std::min(result.score, one.score);
    result.max_abs = std::max(result.max_abs, one.max_abs);
    result.max_rel = std::max(result.max_rel, one.max_rel);
    if (result.warning.empty()) result.warning = one.warning;
  }
  return result;
}

NullCheck null_check(const Comparator& mode, const Tolerance& tolerance, const TensorView& expected) {
  if (mode.mode == Mode::topk_scores) return null_check_scores(mode, expected);
  NullCheck result;
  result.limit = 0.5;
  if (mode.mode == Mode::cosine || expected.size() == 0) {
    const Tensor zeros(expected.shape, DType::f64);
    const Comparison null = compare(mode, tolerance, zeros.view(), expected);
    result.score = null.score;
    result.informative = expected.size() > 0 && null.fault == CaseFault::none && null.score <= result.limit;
    return result;
  }
  // The share of cells that zero matches, without collecting the others: most are wrong, and nobody reads which.
  const Values e(expected);
  std::int64_t matched = 0;
  bool finite = true;
  for (const double value : e.span()) {
    matched += std::fabs(value) <= tolerance.atol + tolerance.rtol * std::fabs(value);
    finite = finite && std::isfinite(value);
  }
  result.score = static_cast<double>(matched) / static_cast<double>(e.span().size());
  result.informative = finite && result.score <= result.limit;
  return result;
}

}  // namespace assay
