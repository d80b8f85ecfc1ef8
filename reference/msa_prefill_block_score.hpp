// reference/msa_prefill_block_score.hpp: attention.msa_prefill_block_score in float64.
//
// Promises: out_topk (Hq, all_seqblock_q, topk) as one best choice of ids, ascending and padded with -1, and beside it
// the selection: each row's scores, visible and forced blocks. Only a query block's first row scores, and only visible
// keys are read. The magnitude is |expected|.
// Who uses it: conformance/slots/msa_prefill_block_score.cc. Throws std::invalid_argument for metadata that contradict
// each other.
#pragma once

#include "assay/reference.hpp"

namespace assay::reference {

inline constexpr Reference msa_prefill_block_score{"assay_reference_msa_prefill_block_score"};

}  // namespace assay::reference

extern "C" __attribute__((visibility("default"))) void assay_reference_msa_prefill_block_score(
    const assay::ReferenceCall&, assay::ReferenceResult&);
