// Takes every request to be as long as max_seqlen_k says.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;
using faulty::smaller;

struct Fault : faulty::Prefill<Fault> {
  static Anchor anchor(const PrefillArguments& a, int64_t head, int64_t query_block, int64_t b) {
    Anchor anchor = Right::anchor(a, head, query_block, b);
    anchor.last = smaller(anchor.last + a.max_k - a.lengths[b], a.capacity - 1);
    return anchor;
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
