// Leaves the cells behind the selected blocks as they were.
// Slot: attention.msa_prefill_block_score. Caught by: write.every_cell. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::Choice;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static void write(const PrefillArguments& a, const Anchor& anchor, const Choice& choice) {
    int32_t* out = out_row(a, anchor);
    for (int64_t n = 0; n < choice.visible; ++n)
      if (choice.taken[n]) *out++ = static_cast<int32_t>(n);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
