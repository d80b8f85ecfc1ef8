// Starts the maximum of a block at zero: negative blocks tie.
// Slot: attention.msa_prefill_block_score. Caught by: number.hard_values. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static double block_score(const PrefillArguments& a, const Anchor& anchor, int64_t n) {
    const double best = Right::block_score(a, anchor, n);
    return best < 0 ? 0.0 : best;
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
