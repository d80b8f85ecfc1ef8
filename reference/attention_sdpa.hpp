// reference/attention_sdpa.hpp: attention.sdpa in float64.
//
// Promises: q (T,Hq,D), k and v (S,Hkv,D), scalars sm_scale and causal give out = softmax(sm_scale * q k^T) v, query
// head h reading key/value head h // (Hq/Hkv); a causal query t sees the keys s <= t + S - T, so the diagonal ends at
// the last key. A query that sees no key gives zeros. The magnitude is the sum of softmax times |v|.
// Who uses it: conformance/slots/sdpa.cc. Throws std::invalid_argument for shapes that do not fit.
#pragma once

#include "assay/reference.hpp"

namespace assay::reference {

inline constexpr Reference attention_sdpa{"assay_reference_attention_sdpa"};

}  // namespace assay::reference

extern "C" __attribute__((visibility("default"))) void assay_reference_attention_sdpa(const assay::ReferenceCall&,
                                                                                      assay::ReferenceResult&);
