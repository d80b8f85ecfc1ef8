// reference/attention_decode.hpp: attention.decode, paged sparse attention of one query a request, in float64.
//
// Promises: request b attends, for key/value head j, the positions p < seq_lens[b] whose block p // block_size is in
// topk_idx[j,b]; position p lies in cache slot req_to_token[req_pool_indices[b], p]. Negative ids select nothing, their
// order is free, blocks at or past the length add nothing. No position: zeros. Cells of the caches that no request
// selects are not read. The magnitude is the sum of softmax times |v|.
// Who uses it: conformance/slots/decode.cc. Throws std::invalid_argument for shapes that do not fit and for metadata
// outside their ranges.
#pragma once

#include "assay/reference.hpp"

namespace assay::reference {

inline constexpr Reference attention_decode{"assay_reference_attention_decode"};

}  // namespace assay::reference

extern "C" __attribute__((visibility("default"))) void assay_reference_attention_decode(const assay::ReferenceCall&,
                                                                                        assay::ReferenceResult&);
