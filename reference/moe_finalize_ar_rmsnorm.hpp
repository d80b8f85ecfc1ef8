// reference/moe_finalize_ar_rmsnorm.hpp: collective.moe_finalize_ar_rmsnorm in float64, without communication.
//
// Promises: a rank's part of token t is the sum over places k of scales[t,k] * gemm_out[row_map[t + k * T_exp]];
// out_norm and out_residual of residual_norm.hpp, from the sum of all ranks' parts. T is the residual's, T_exp and K
// those of scales; nothing that belongs to tokens from T on is read. Who uses it:
// conformance/slots/moe_finalize_ar_rmsnorm.cc.
#pragma once

#include "assay/reference.hpp"

namespace assay::reference {

inline constexpr Reference moe_finalize_ar_rmsnorm{"assay_reference_moe_finalize_ar_rmsnorm"};

}  // namespace assay::reference

extern "C" __attribute__((visibility("default"))) void assay_reference_moe_finalize_ar_rmsnorm(
    const assay::ReferenceCall&, assay::ReferenceResult&);
