// Takes every request to have max_seqlen_q rows before the next one starts.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;
using faulty::smaller;

struct Fault : faulty::Prefill<Fault> {
  static Anchor anchor(const PrefillArguments& a, int64_t head, int64_t query_block, int64_t b) {
    Anchor anchor = Right::anchor(a, head, query_block, b);
    anchor.row = smaller(anchor.row + b * a.max_q - a.first_row[b], a.query_rows - 1);
    return anchor;
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
