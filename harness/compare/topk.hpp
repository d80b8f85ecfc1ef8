// harness/compare/topk.hpp: grades selections: a sheet of scores, or the selected indices themselves.
//
// Promises: spec/slots.md 3.1 to 3.3. Order inside a selection is free; blocks whose scores tie within 2^-16 of the
// row's largest are interchangeable; what a structural rule forbids fails with score 0.
// Who calls it: harness/compare/comparators (sheets), the rules and the slot of the prefill selection (indices).
//
//   const Comparison c = compare_indices(0.90, out.view(), selection);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/reference.hpp"
#include "assay/tensor.hpp"
#include "harness/compare/comparators.hpp"

namespace assay {

// `floor` is the slot's 0.90; 64 rows and more that have something to choose raise it to 1 - 0.8/topk. `actual` is
// int32 or int64.
[[nodiscard]] Comparison compare_indices(double floor, const TensorView& actual, const Selection&);
// The forced set followed by the lowest visible indices.
[[nodiscard]] NullCheck null_check_indices(double floor, const Extents& shape, const Selection&);

// The first `count` columns by score: larger first, equal ones by lower index.
[[nodiscard]] std::vector<std::int64_t> best_columns(std::span<const double> row, std::int64_t count);

// Score sheets; called through compare() and null_check(). Values are row-major.
[[nodiscard]] Comparison compare_scores(const Comparator&, const Extents& shape, std::span<const double> actual,
                                        std::span<const double> expected);
[[nodiscard]] NullCheck null_check_scores(const Comparator&, const TensorView& expected);

}  // namespace assay
