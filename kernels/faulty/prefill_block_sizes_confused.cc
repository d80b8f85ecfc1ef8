// Finds a query block's first row by block_size_k.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Anchor;
using faulty::PrefillArguments;
using faulty::smaller;

struct Fault : faulty::Prefill<Fault> {
  static Anchor anchor(const PrefillArguments& a, int64_t head, int64_t query_block, int64_t b) {
    Anchor anchor = Right::anchor(a, head, query_block, b);
    const int64_t row = a.first_row[b] + (query_block - a.first_block[b]) * a.block_k;
    anchor.row = smaller(row, a.first_row[b + 1] - 1);
    return anchor;
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
