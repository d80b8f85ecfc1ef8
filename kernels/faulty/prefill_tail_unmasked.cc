// Scores the last visible block as a whole: leftovers of a recycled page win it.
// Slot: attention.msa_prefill_block_score. Caught by: input.bounds. Source: FAULT-010.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static int64_t end(const PrefillArguments& a, const Anchor&, int64_t n) { return (n + 1) * a.block_k; }
};

}  // namespace

FAULTY_PREFILL(Fault)
