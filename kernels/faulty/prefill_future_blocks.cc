// Selects among all blocks of the request, those of the future included.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;
using faulty::smaller;

struct Fault : faulty::Prefill<Fault> {
  static int64_t visible(const PrefillArguments& a, const Anchor& anchor) {
    return (a.lengths[anchor.request] + a.block_k - 1) / a.block_k;
  }
  static int64_t end(const PrefillArguments& a, const Anchor& anchor, int64_t n) {
    return smaller((n + 1) * a.block_k, a.lengths[anchor.request]);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
