// Lets the last row of a query block score it.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;
using faulty::smaller;

struct Fault : faulty::Prefill<Fault> {
  static double score(const PrefillArguments& a, const Anchor& anchor, int64_t p) {
    const int64_t end = smaller(anchor.row + a.block_q, a.first_row[anchor.request + 1]);
    return Right::score(a, {anchor.head, anchor.query_block, anchor.request, end - 1, anchor.last}, p);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
