// Selects block 2 only where nothing else is left, which the mean overlap of long rows forgives.
// Slot: attention.msa_prefill_block_score. Caught by: number.no_structured_error. Source: rules.md.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::minus_infinity;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static double block_score(const PrefillArguments& a, const Anchor& anchor, int64_t n) {
    return n == 2 ? minus_infinity : Right::block_score(a, anchor, n);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
