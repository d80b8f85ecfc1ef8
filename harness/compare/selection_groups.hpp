// harness/compare/selection_groups.hpp: is one head or one block left out of selections as a whole, where the mean
// overlap forgives a share of them.
//
// Promises: counts only blocks that clearly belong (above the cut by more than near ties), in rows that have something
// to choose. A group fails when more of them are missing than the 1-1e-9 binomial quantile at the comparator's floor.
// Who calls it: number.no_structured_error.
//
//   const SelectionReport r = test_selection(slot.comparing(c), out.view(), expected);
#pragma once

#include <string>

#include "assay/reference.hpp"
#include "harness/compare/comparators.hpp"

namespace assay {

struct SelectionReport {
  bool passed = true;
  std::string reason;  // "block 3: 40 of 40 clear choices are missing, 22 allowed"
};

// Modes topk_scores and topk_indices only. Rows are all dims but the last; heads the first of at least three.
[[nodiscard]] SelectionReport test_selection(const Comparator&, const TensorView& actual, const Expected&);

}  // namespace assay
