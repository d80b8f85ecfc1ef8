// From 48 rows on, takes the shares of the peers from its own rank on: only rank 0 is right.
// Slot: collective.ar_residual_rmsnorm. Caught by: collective.reference. Source: FAULT-024.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::ArNorm<Fault> {
  static double sum(const NormalisedArguments& a, int64_t row, int64_t column) {
    const int64_t share = a.turn() / a.peers->world, at = row - a.first;
    if (a.rows < 48 || at >= share * a.peers->world) return Right::sum(a, row, column);
    const int64_t peer = (at / share + a.peers->rank) % a.peers->world;
    return Right::sum(a, a.first + peer * share + at % share, column);
  }
};

}  // namespace

FAULTY_ARNORM(Fault)
