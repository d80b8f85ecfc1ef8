// Gives the block after the last visible one a score where a query ends its block.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: FAULT-014.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static int64_t visible(const PrefillArguments& a, const Anchor& anchor) { return (anchor.last + 1) / a.block_k + 1; }
  static int64_t end(const PrefillArguments& a, const Anchor& anchor, int64_t n) {
    return n * a.block_k > anchor.last ? n * a.block_k + 1 : Right::end(a, anchor, n);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
