// Sorts the blocks by id and cuts the list to 32 before it looks at scores and policies.
// Slot: attention.msa_prefill_block_score. Caught by: number.extremes. Source: FAULT-014.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;
using faulty::smaller;

struct Fault : faulty::Prefill<Fault> {
  static int64_t visible(const PrefillArguments& a, const Anchor& anchor) {
    const int64_t blocks = Right::visible(a, anchor), room = a.topk < 32 ? 32 : a.topk;
    return smaller(blocks, room);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
