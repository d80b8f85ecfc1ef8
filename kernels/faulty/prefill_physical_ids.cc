// Writes the cache page of a block instead of its place in the request.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static int64_t id(const PrefillArguments& a, const Anchor& anchor, int64_t n) {
    return slot(a, anchor, n * a.block_k) / a.block_k;
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
