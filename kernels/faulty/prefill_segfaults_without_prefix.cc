// Its kernel writes through a null pointer for a request without a prefix that has more than one row.
// Slot: attention.msa_prefill_block_score. Caught by: verdict.attribution. Source: blame:crash.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static faulty::Anchor anchor(const PrefillArguments& a, int64_t head, int64_t query_block, int64_t b) {
    if (a.prefix[b] == 0 && a.rows_of(b) > 1) *static_cast<volatile int*>(nullptr) = 1;
    return Right::anchor(a, head, query_block, b);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
