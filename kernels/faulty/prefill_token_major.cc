// Writes the selection token-major where the consumer reads head-major.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: FAULT-013.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static int32_t* out_row(const PrefillArguments& a, const Anchor& anchor) {
    return a.out + (anchor.query_block * a.heads + anchor.head) * a.topk;
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
