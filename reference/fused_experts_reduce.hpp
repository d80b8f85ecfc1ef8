// reference/fused_experts_reduce.hpp: moe.fused_experts_reduce in float64, without communication.
//
// Promises: the sum over the ranks of what reference/fused_experts.hpp says of each rank's weights; magnitudes add up.
// Inputs that do not differ by rank come from call.inputs.
// Who uses it: conformance/slots/fused_experts_reduce.cc.
#pragma once

#include "assay/reference.hpp"

namespace assay::reference {

inline constexpr Reference fused_experts_reduce{"assay_reference_fused_experts_reduce"};

}  // namespace assay::reference

extern "C" __attribute__((visibility("default"))) void assay_reference_fused_experts_reduce(const assay::ReferenceCall&,
                                                                                            assay::ReferenceResult&);
