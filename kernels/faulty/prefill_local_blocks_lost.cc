// Forces no last blocks.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: slots.md 5.6.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Choice;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static int64_t force(const PrefillArguments& a, const Choice& choice) {
    PrefillArguments none = a;
    none.local = 0;
    return Right::force(none, choice);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
