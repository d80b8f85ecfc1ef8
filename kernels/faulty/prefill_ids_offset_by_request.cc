// Counts block ids on from one request to the next.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static int64_t id(const PrefillArguments& a, const Anchor& anchor, int64_t n) {
    for (int64_t b = 0; b < anchor.request; ++b) n += (a.lengths[b] + a.block_k - 1) / a.block_k;
    return n;
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
