// Lists first and last blocks one after the other, and a block that is both twice.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::Choice;
using faulty::PrefillArguments;
using faulty::smaller;

struct Fault : faulty::Prefill<Fault> {
  static void write(const PrefillArguments& a, const Anchor& anchor, const Choice& choice) {
    int32_t* out = out_row(a, anchor);
    int64_t count = 0;
    const int64_t init = smaller(a.init, choice.visible), local = smaller(a.local, choice.visible);
    for (int64_t n = 0; n < init; ++n) out[count++] = static_cast<int32_t>(n);
    for (int64_t n = choice.visible - local; n < choice.visible; ++n) out[count++] = static_cast<int32_t>(n);
    for (int64_t n = init; n < choice.visible - local; ++n)
      if (choice.taken[n]) out[count++] = static_cast<int32_t>(n);
    for (; count < a.topk; ++count) out[count] = -1;
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
