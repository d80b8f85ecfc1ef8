// reference/msa_block_score.hpp: attention.msa_block_score in float64.
//
// Promises: q (B,Hq,D), index_k (B,S,1,D), seq_lens (B), scalar block_size, which divides S, give out (B,S/block_size),
// the largest sum over heads of q . index_k among a block's positions below the length; -inf where there is none. The
// magnitude is the largest sum of absolute terms of these positions, 0 where there is none. Positions past a length
// may hold anything.
// Who uses it: conformance/slots/msa_block_score.cc. Throws std::invalid_argument for shapes that do not fit.
#pragma once

#include "assay/reference.hpp"

namespace assay::reference {

inline constexpr Reference msa_block_score{"assay_reference_msa_block_score"};

}  // namespace assay::reference

extern "C" __attribute__((visibility("default"))) void assay_reference_msa_block_score(const assay::ReferenceCall&,
                                                                                       assay::ReferenceResult&);
