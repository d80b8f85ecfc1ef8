// Sums squares by 32 lanes of eight columns; with fewer than 256 columns some hold what the last row left.
// Slot: collective.ar_residual_rmsnorm. Caught by: number.reference. Source: FAULT-027.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::ArNorm<Fault> {
  static double squares(const NormalisedArguments& a, int64_t row) {
    static double lanes[32];
    const int64_t used = (a.width + 7) / 8;
    for (int64_t lane = 0; lane < used && lane < 32; ++lane) lanes[lane] = 0;
    for (int64_t column = 0; column < a.width; ++column)
      lanes[column / 8 % 32] += total(a, row, column) * total(a, row, column);
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    return sum;
  }
};

}  // namespace

FAULTY_ARNORM(Fault)
