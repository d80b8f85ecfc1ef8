// reference/all_reduce.hpp: collective.all_reduce in float64, without communication.
//
// Promises: `out` is the sum of all ranks' x, the same on every rank; its magnitude the sum of their absolute values.
// Reads call.ranks, one map a rank.
// Who uses it: conformance/slots/all_reduce.cc and, as a first step, the fused reductions.
#pragma once

#include "assay/reference.hpp"

namespace assay::reference {

inline constexpr Reference all_reduce{"assay_reference_all_reduce"};

}  // namespace assay::reference

extern "C" __attribute__((visibility("default"))) void assay_reference_all_reduce(const assay::ReferenceCall&,
                                                                                  assay::ReferenceResult&);
