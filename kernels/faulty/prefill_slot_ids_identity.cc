// Reads page-table row b for request b.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static int64_t table_row(const PrefillArguments&, int64_t b) { return b; }
};

}  // namespace

FAULTY_PREFILL(Fault)
