// Only rank 0 ends with the sum; the others keep their own x.
// Slot: collective.all_reduce. Caught by: collective.reference. Source: slots.md 5.8.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static double cell(const ReduceArguments& a, int64_t row, int64_t column) {
    return a.peers->rank == 0 ? Right::cell(a, row, column) : a.x.get(row, column);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
