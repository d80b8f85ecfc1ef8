// Normalises the sum of x without the residual.
// Slot: collective.ar_residual_rmsnorm. Caught by: number.reference. Source: slots.md 5.10.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::ArNorm<Fault> {
  static void finish(const NormalisedArguments& a, int64_t row) {
    double squares = 0;
    for (int64_t column = 0; column < a.width; ++column) squares += sum(a, row, column) * sum(a, row, column);
    const double scale = 1.0 / __builtin_sqrt(squares / static_cast<double>(a.width) + a.eps);
    for (int64_t column = 0; column < a.width; ++column) {
      a.out_residual.set(row, column, total(a, row, column));
      a.out_norm.set(row, column, sum(a, row, column) * scale * a.weight.get(0, column));
    }
  }
};

}  // namespace

FAULTY_ARNORM(Fault)
