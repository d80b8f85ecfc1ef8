// reference/rmsnorm.hpp: norm.rmsnorm in float64.
//
// Promises: x (..., H), weight (H), scalar eps give out = x * (mean(x^2) + eps)^-1/2 * weight, the mean over the last
// extent. The magnitude is |expected|: the only sum is one of squares, all of one sign, so it cannot cancel and its
// relative error is that of the result.
// Who uses it: conformance/slots/rmsnorm.cc and, as a second step, the fused norms.
#pragma once

#include "assay/reference.hpp"

namespace assay::reference {

inline constexpr Reference rmsnorm{"assay_reference_rmsnorm"};

}  // namespace assay::reference

extern "C" __attribute__((visibility("default"))) void assay_reference_rmsnorm(const assay::ReferenceCall&,
                                                                               assay::ReferenceResult&);
