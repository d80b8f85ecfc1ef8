// Takes logical positions for cache slots.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static int64_t slot(const PrefillArguments&, const Anchor&, int64_t p) { return p; }
};

}  // namespace

FAULTY_PREFILL(Fault)
