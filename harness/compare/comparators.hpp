// harness/compare/comparators.hpp: does an output agree with its reference, by the slot's own measure.
//
// Promises: the modes of spec/slots.md 3 on host tensors, in float64; the expected value is never rounded to the
// output's dtype. A fault of the case (an expectation that is not finite, nothing to grade) is told apart from a fault
// of the candidate. max_abs and max_rel never decide. Index outputs: harness/compare/topk.hpp.
// Who calls it: the number.* and collective.* rules, slot authors.
//
//   const Comparator mode{.mode = Mode::matched_ratio, .floor = 0.99};
//   const Comparison c = compare(mode, tolerance_for(DType::bf16), out.view(), expected.view());
//   if (!c.passed) report(c.reason);
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/tensor.hpp"

namespace assay {

struct Tolerance {
  double atol = 0, rtol = 0;
};
// By the run's dtype, never the output's (spec/slots.md 1.4).
[[nodiscard]] Tolerance tolerance_for(DType run) noexcept;

enum class Mode : std::uint32_t {
  allclose,       // every cell within atol + rtol * |e|
  matched_ratio,  // a share of at least `floor` of the cells is
  cosine,         // cos >= floor and, where max_norm_error > 0, | ||a|| - ||e|| | / ||e|| <= max_norm_error
  topk_scores,    // a score sheet graded through the k best columns of each row; -inf expected = invisible
  topk_indices,   // the indices themselves; compare_indices
};
[[nodiscard]] std::string_view name_of(Mode) noexcept;

struct Comparator {
  Mode mode = Mode::allclose;
  double floor = 1.0;           // least share, cosine or mean overlap
  double max_norm_error = 0.0;  // cosine only
  std::int64_t k = 8;           // topk_scores only
  double explained = 0.0;       // allclose, matched_ratio: errors under explained * magnitude are within, too
};

// Why nothing can be said about the candidate.
enum class CaseFault : std::uint32_t { none, expected_not_finite, vacuous };

struct WrongCell {
  std::int64_t cell = 0;  // row-major ordinal
  double actual = 0, expected = 0, bound = 0;
};

struct Comparison {
  bool passed = false;
  CaseFault fault = CaseFault::none;
  double score = 0, max_abs = 0, max_rel = 0;
  std::int64_t wrong = 0;        // cells; top-k modes: rows that are not perfect
  std::vector<WrongCell> worst;  // up to 16, worst first; none in top-k modes
  std::string pattern;           // where the wrong cells lie (harness/tensor/cells.hpp)
  std::string reason;            // one line, empty where passed
  std::string warning;           // one line, never a failure
};

// `expected` and `magnitude` are float64; without a magnitude nothing is explained. Mode topk_indices throws
// std::invalid_argument.
[[nodiscard]] Comparison compare(const Comparator&, const Tolerance&, const TensorView& actual,
                                 const TensorView& expected, const TensorView* magnitude = nullptr);

// Several outputs of one call: passes where all pass, worst score, largest errors. A count other than `outputs` fails.
[[nodiscard]] Comparison combine(std::span<const Comparison>, std::size_t outputs);

// How the output of a kernel that does nothing would score (spec/slots.md 3.5): zeros, invisible scores -inf. A case
// that is not informative has the tag `structure`: it proves nothing about numbers.
struct NullCheck {
  double score = 0, limit = 0;
  bool informative = false;
};
[[nodiscard]] NullCheck null_check(const Comparator&, const Tolerance&, const TensorView& expected);

}  // namespace assay
