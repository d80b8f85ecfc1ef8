// Every rank adds the residual to its part: it counts as often as there are ranks.
// Slot: collective.moe_finalize_ar_rmsnorm. Caught by: number.reference. Source: FAULT-020.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::Finalize<Fault> {
  static double partial(const NormalisedArguments& a, int64_t token, int64_t column) {
    return Right::partial(a, token, column) + a.residual.get(token, column);
  }
  static double total(const NormalisedArguments& a, int64_t row, int64_t column) { return sum(a, row, column); }
};

}  // namespace

FAULTY_FINALIZE(Fault)
