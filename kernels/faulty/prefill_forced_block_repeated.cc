// Lets a forced last block win a place by its score as well.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::Choice;
using faulty::PrefillArguments;
using faulty::smaller;

struct Fault : faulty::Prefill<Fault> {
  static void write(const PrefillArguments& a, const Anchor& anchor, const Choice& choice) {
    Right::write(a, anchor, choice);
    int32_t* out = out_row(a, anchor);
    const int64_t last = choice.visible - 1, places = smaller(a.topk, choice.visible);
    if (a.local == 0 || places < a.init + a.local + 1) return;
    for (int64_t n = 0; n < last; ++n)
      if (choice.scores[n] > choice.scores[last]) return;
    out[a.init] = static_cast<int32_t>(last);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
