// reference/ar_residual_rmsnorm.hpp: collective.ar_residual_rmsnorm in float64, without communication.
//
// Promises: out_norm and out_residual of residual_norm.hpp, from the sum of all ranks' x. The residual counts once.
// Who uses it: conformance/slots/ar_residual_rmsnorm.cc.
#pragma once

#include "assay/reference.hpp"

namespace assay::reference {

inline constexpr Reference ar_residual_rmsnorm{"assay_reference_ar_residual_rmsnorm"};

}  // namespace assay::reference

extern "C" __attribute__((visibility("default"))) void assay_reference_ar_residual_rmsnorm(const assay::ReferenceCall&,
                                                                                           assay::ReferenceResult&);
