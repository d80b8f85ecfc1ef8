// Of four ranks and more, reduces over those of the same half only.
// Slot: collective.ar_residual_rmsnorm. Caught by: collective.reference. Source: FAULT-021.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::ArNorm<Fault> {
  static double sum(const NormalisedArguments& a, int64_t row, int64_t column) {
    const int half = a.peers->world < 4 ? a.peers->world : a.peers->world / 2;
    const int first = a.peers->rank / half * half;
    double sum = 0;
    for (int rank = first; rank < first + half && rank < a.peers->world; ++rank) sum += part(a, rank, row, column);
    return sum;
  }
};

}  // namespace

FAULTY_ARNORM(Fault)
