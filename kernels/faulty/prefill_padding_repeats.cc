// Pads with the last block selected instead of -1.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::Choice;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static void write(const PrefillArguments& a, const Anchor& anchor, const Choice& choice) {
    Right::write(a, anchor, choice);
    int32_t* out = out_row(a, anchor);
    for (int64_t i = 1; i < a.topk; ++i)
      if (out[i] == -1) out[i] = out[i - 1];
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
