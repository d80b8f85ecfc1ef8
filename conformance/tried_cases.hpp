// tried_cases.hpp: counts which edges, recipes and knobs of a slot the cases of a unit meet.
//
// Who calls it: examiner.cc, examiner_trials.cc.
//
//   Tried tried = untried(slot);
//   count_case(tried, c);
#pragma once

#include "assay/slot.hpp"
#include "harness/result/tried.hpp"

namespace assay {

// All that the slot has, met by nothing. The least value of a dimension, to which shrinking leads, is an edge.
[[nodiscard]] Tried untried(const SlotSpec&);
void count_case(Tried&, const Case&);

}  // namespace assay
