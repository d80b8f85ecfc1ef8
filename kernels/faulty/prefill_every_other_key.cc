// Scores every other key of a block.
// Slot: attention.msa_prefill_block_score. Caught by: number.hard_values. Source: slots.md 4.4.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::minus_infinity;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static double block_score(const PrefillArguments& a, const Anchor& anchor, int64_t n) {
    double best = minus_infinity;
    for (int64_t p = n * a.block_k; p < Right::end(a, anchor, n); p += 2) {
      const double score = Right::score(a, anchor, p);
      if (score > best) best = score;
    }
    return best;
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
