// Multiplies the rank's own x by the world size: right where all ranks have the same.
// Slot: collective.all_reduce. Caught by: collective.reference. Source: slots.md 5.9.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static double cell(const ReduceArguments& a, int64_t row, int64_t column) {
    return a.peers->world * a.x.get(row, column);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
