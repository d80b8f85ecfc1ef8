// reference/fused_experts.hpp: moe.fused_experts in float64.
//
// Promises: out[m] = sum over places k of topk_weights[m,k] * w2[e] . act(w13[e] . x[m]), e = topk_ids[m,k], each place
// counted, nothing normalised; the knob `profile` says the activation and the form of the weights (spec/slots.md 5.7,
// 6). NVFP4 weights are dequantised exactly, times g * a_inv, and activations are never quantised. Weights of experts
// that no token chose are not read. The magnitude is the sum of |weight * w2 * act|; in fp32 runs |act| counts what
// rounding a cancelling w13 . x adds to it as well. Rows are grouped by the expert of their first place.
// Who uses it: conformance/slots/fused_experts.cc.
#pragma once

#include "assay/reference.hpp"

namespace assay::reference {

inline constexpr Reference fused_experts{"assay_reference_fused_experts"};

}  // namespace assay::reference

extern "C" __attribute__((visibility("default"))) void assay_reference_fused_experts(const assay::ReferenceCall&,
                                                                                     assay::ReferenceResult&);
