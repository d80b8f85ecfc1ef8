// Each rank normalises its own x; the norms are added up.
// Slot: collective.ar_residual_rmsnorm. Caught by: number.reference. Source: slots.md 5.10.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::ArNorm<Fault> {
  static double partial(const NormalisedArguments& a, int64_t row, int64_t column) {
    double squares = 0;
    for (int64_t i = 0; i < a.width; ++i) squares += a.x.get(row, i) * a.x.get(row, i);
    return a.x.get(row, column) / __builtin_sqrt(squares / static_cast<double>(a.width) + a.eps);
  }
};

}  // namespace

FAULTY_ARNORM(Fault)
