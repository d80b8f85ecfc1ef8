// Scores the last of several heads by the one before, which the mean overlap of many heads forgives.
// Slot: attention.msa_prefill_block_score. Caught by: relation.row_independence. Source: rules.md.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static double score(const PrefillArguments& a, const Anchor& anchor, int64_t p) {
    Anchor other = anchor;
    if (anchor.head > 0 && anchor.head + 1 == a.heads) --other.head;
    return Right::score(a, other, p);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
