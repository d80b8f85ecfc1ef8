// Leaves the residual out.
// Slot: collective.moe_finalize_ar_rmsnorm. Caught by: number.reference. Source: slots.md 5.11.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::Finalize<Fault> {
  static double total(const NormalisedArguments& a, int64_t row, int64_t column) { return sum(a, row, column); }
};

}  // namespace

FAULTY_FINALIZE(Fault)
