// reference/residual_norm.hpp: what follows a sum over ranks: the residual, then RMSNorm, in float64.
//
// Promises: appends out_norm and out_residual, in this order. out_residual = sum + residual; out_norm = out_residual *
// (mean over the row of out_residual^2 + eps)^-1/2 * weight, from the unrounded sum. The norm's magnitude is that of
// the residual sum, scaled alike: what cancels before the norm is as uncertain after it. Who uses it: the references of
// ar_residual_rmsnorm and moe_finalize_ar_rmsnorm.
#pragma once

#include "assay/reference.hpp"

namespace assay::reference {

// sum and magnitude: float64, (T,H). Reads residual, weight and eps of the call.
void append_residual_norm(const ReferenceCall&, const Tensor& sum, const Tensor& magnitude, ReferenceResult&);

}  // namespace assay::reference
