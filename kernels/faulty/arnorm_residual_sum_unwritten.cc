// Writes the norm and leaves the residual sum as it was.
// Slot: collective.ar_residual_rmsnorm. Caught by: write.every_cell. Source: slots.md 5.10.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::ArNorm<Fault> {
  static void finish(const NormalisedArguments& a, int64_t row) {
    const double scale = 1.0 / __builtin_sqrt(squares(a, row) / static_cast<double>(a.width) + a.eps);
    for (int64_t column = 0; column < a.width; ++column)
      a.out_norm.set(row, column, total(a, row, column) * scale * a.weight.get(0, column));
  }
};

}  // namespace

FAULTY_ARNORM(Fault)
