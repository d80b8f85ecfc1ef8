// Counts visible blocks from the request's first query, not from its cached prefix.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static int64_t visible(const PrefillArguments& a, const Anchor& anchor) {
    return (anchor.last - a.prefix[anchor.request]) / a.block_k + 1;
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
