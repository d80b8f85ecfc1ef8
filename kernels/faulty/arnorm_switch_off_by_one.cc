// With exactly 48 rows the one-shot half of the code leaves the last rank to the two-shot half, which starts at 49.
// Slot: collective.ar_residual_rmsnorm. Caught by: collective.reference. Source: slots.md 5.10.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::ArNorm<Fault> {
  static double sum(const NormalisedArguments& a, int64_t row, int64_t column) {
    double sum = 0;
    for (int rank = 0; rank < a.peers->world - (a.rows == 48 ? 1 : 0); ++rank) sum += part(a, rank, row, column);
    return sum;
  }
};

}  // namespace

FAULTY_ARNORM(Fault)
