// Leaves the rows of the last of several requests as they were.
// Slot: attention.msa_prefill_block_score. Caught by: write.every_cell. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::Choice;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static void write(const PrefillArguments& a, const Anchor& anchor, const Choice& choice) {
    if (anchor.request == 0 || anchor.request + 1 < a.requests) Right::write(a, anchor, choice);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
