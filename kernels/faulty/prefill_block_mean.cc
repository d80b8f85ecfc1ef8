// Scores a block by the mean of its keys.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static double block_score(const PrefillArguments& a, const Anchor& anchor, int64_t n) {
    const int64_t first = n * a.block_k, end = Right::end(a, anchor, n);
    double sum = 0;
    for (int64_t p = first; p < end; ++p) sum += score(a, anchor, p);
    return sum / static_cast<double>(end - first);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
