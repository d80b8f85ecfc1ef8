// together.hpp: what two files of rules say of one thing: that the ranks of a group select together.
//
// Promises: a pure function of what the `routed` drive saw. Who calls it: collective.cc, whose rule also reads
// `one_rank`.
#pragma once

#include "assay/rule.hpp"

namespace assay::judging {

// One rank that is not eligible sends all to stock, before any of them has called the candidate.
[[nodiscard]] Judgement stock_on_all_ranks(const Observation&);

}  // namespace assay::judging
