// Scores with the best of all rows of a query block.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::minus_infinity;
using faulty::PrefillArguments;
using faulty::smaller;

struct Fault : faulty::Prefill<Fault> {
  static double score(const PrefillArguments& a, const Anchor& anchor, int64_t p) {
    const int64_t end = smaller(anchor.row + a.block_q, a.first_row[anchor.request + 1]);
    double best = minus_infinity;
    for (int64_t row = anchor.row; row < end; ++row) {
      const double score = Right::score(a, {anchor.head, anchor.query_block, anchor.request, row, anchor.last}, p);
      if (score > best) best = score;
    }
    return best;
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
