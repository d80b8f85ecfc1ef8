// reference/silu_and_mul.hpp: activation.silu_and_mul in float64.
//
// Promises: x (..., 2d) gives out (..., d) = x[:d] / (1 + exp(-x[:d])) * x[d:]; far negative gates give -0, -infinity
// included. The magnitude is |expected|: one product, no sum that could cancel.
// Who uses it: conformance/slots/silu_and_mul.cc. Throws std::invalid_argument for an odd or absent last extent.
#pragma once

#include "assay/reference.hpp"

namespace assay::reference {

inline constexpr Reference silu_and_mul{"assay_reference_silu_and_mul"};

}  // namespace assay::reference

extern "C" __attribute__((visibility("default"))) void assay_reference_silu_and_mul(const assay::ReferenceCall&,
                                                                                    assay::ReferenceResult&);
