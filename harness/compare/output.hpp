// harness/compare/output.hpp: one output against its reference, whatever the slot's comparator.
//
// Promises: index outputs go through their selection, score sheets and floats through compare(). Tolerance by the run's
// dtype. Who calls it: the rules, the reference cache.
#pragma once

#include "assay/reference.hpp"
#include "harness/compare/comparators.hpp"

namespace assay {

// Throws std::invalid_argument where an index output's reference has no selection.
[[nodiscard]] Comparison compare_output(const Comparator&, DType run, const TensorView& actual, const Expected&);
[[nodiscard]] NullCheck null_check_output(const Comparator&, DType run, const Expected&);

// Whether the comparator grades choices, not values: tolerances and bounds say nothing there.
[[nodiscard]] constexpr bool grades_selections(Mode mode) noexcept {
  return mode == Mode::topk_scores || mode == Mode::topk_indices;
}

}  // namespace assay
