// Scores the last visible block with all keys that the request has there.
// Slot: attention.msa_prefill_block_score. Caught by: number.hard_values. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;
using faulty::smaller;

struct Fault : faulty::Prefill<Fault> {
  static int64_t end(const PrefillArguments& a, const Anchor& anchor, int64_t n) {
    return smaller((n + 1) * a.block_k, a.lengths[anchor.request]);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
