// Takes x for what the ranks share and the residual for what each has a part of.
// Slot: collective.ar_residual_rmsnorm. Caught by: collective.replicated. Source: rules.md.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::ArNorm<Fault> {
  static double sum(const NormalisedArguments& a, int64_t row, int64_t column) {
    return a.peers->world * part(a, 0, row, column);
  }
  static double total(const NormalisedArguments& a, int64_t row, int64_t column) {
    return sum(a, row, column) + a.residual.get(row, column);
  }
};

}  // namespace

FAULTY_ARNORM(Fault)
