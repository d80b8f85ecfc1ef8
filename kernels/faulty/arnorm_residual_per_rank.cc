// Every rank adds the residual to its part: it counts as often as there are ranks (FAULT-020).
// Slot: collective.ar_residual_rmsnorm. Caught by: number.reference. Source: slots.md 5.10.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::ArNorm<Fault> {
  static double partial(const NormalisedArguments& a, int64_t row, int64_t column) {
    return a.x.get(row, column) + a.residual.get(row, column);
  }
  static double total(const NormalisedArguments& a, int64_t row, int64_t column) { return sum(a, row, column); }
};

}  // namespace

FAULTY_ARNORM(Fault)
