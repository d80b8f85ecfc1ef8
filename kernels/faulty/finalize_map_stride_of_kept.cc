// Steps through the map by the kept tokens, not by all.
// Slot: collective.moe_finalize_ar_rmsnorm. Caught by: number.reference. Source: slots.md 5.11.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::Finalize<Fault> {
  static int64_t source(const NormalisedArguments& a, int64_t token, int64_t k) {
    return a.map[(token + k * a.rows) * a.map_step];
  }
};

}  // namespace

FAULTY_FINALIZE(Fault)
