// Adds a token's rows up without their scales.
// Slot: collective.moe_finalize_ar_rmsnorm. Caught by: number.reference. Source: slots.md 5.11.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::Finalize<Fault> {
  static double scale(const NormalisedArguments&, int64_t, int64_t) { return 1; }
};

}  // namespace

FAULTY_FINALIZE(Fault)
