// Multiplies the rows of trimmed tokens by zero and adds them to the last one that is kept.
// Slot: collective.moe_finalize_ar_rmsnorm. Caught by: input.bounds. Source: slots.md 5.11.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::Finalize<Fault> {
  static double partial(const NormalisedArguments& a, int64_t token, int64_t column) {
    double sum = Right::partial(a, token, column);
    for (int64_t t = a.rows; t < a.tokens && token + 1 == a.rows; ++t) sum += 0 * Right::partial(a, t, column);
    return sum;
  }
};

}  // namespace

FAULTY_FINALIZE(Fault)
