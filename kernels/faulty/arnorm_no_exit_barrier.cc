// Returns when its own sum is done, and writes its buffer again while peers still read it.
// Slot: collective.ar_residual_rmsnorm. Caught by: graph.order_free. Source: FAULT-025.
#include <unistd.h>

#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::ArNorm<Fault> {
  static void finish(const NormalisedArguments& a, int64_t row) {
    if (a.peers->rank == 0 && row == a.first) usleep(2000);
    Right::finish(a, row);
  }
  static void leave(const NormalisedArguments&) {}
};

}  // namespace

FAULTY_ARNORM(Fault)
