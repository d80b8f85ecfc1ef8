// Rounds the sum over places to the cell type after every term.
// Slot: collective.moe_finalize_ar_rmsnorm. Caught by: number.hard_values. Source: FAULT-028.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::Finalize<Fault> {
  static double partial(const NormalisedArguments& a, int64_t token, int64_t column) {
    double sum = 0;
    for (int64_t k = 0; k < a.places; ++k) sum = faulty::rounded(a.x, sum + term(a, token, k, column));
    return sum;
  }
};

}  // namespace

FAULTY_FINALIZE(Fault)
