// Reduces scores over the heads first: all heads share one list.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: FAULT-011.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::minus_infinity;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static double score(const PrefillArguments& a, const Anchor& anchor, int64_t p) {
    double best = minus_infinity;
    for (int64_t h = 0; h < a.heads; ++h) {
      const double score = Right::score(a, {h, anchor.query_block, anchor.request, anchor.row, anchor.last}, p);
      if (score > best) best = score;
    }
    return best;
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
