// Keeps the page-table pitch of the first call: row 0 is always right, others are where it differs.
// Slot: attention.msa_prefill_block_score. Caught by: input.not_retained. Source: FAULT-031.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;
using faulty::smaller;

struct Fault : faulty::Prefill<Fault> {
  struct Pitched : PrefillArguments {
    int64_t pitch;
  };
  static assay_status enqueue(const assay_call* call, const PrefillArguments& a) {
    static int64_t first_pitch = a.capacity;
    const Pitched pitched{a, smaller(first_pitch, a.capacity)};
    return faulty::launch(call, call->host_stream, kernel, launch_blocks(a.heads * a.query_blocks), pitched);
  }
  static int64_t slot(const PrefillArguments& a, const Anchor& anchor, int64_t p) {
    return a.table[table_row(a, anchor.request) * static_cast<const Pitched&>(a).pitch + p];
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
