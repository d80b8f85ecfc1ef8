// Divides by the world size: the mean.
// Slot: collective.all_reduce. Caught by: collective.reference. Source: slots.md 5.8.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static double cell(const ReduceArguments& a, int64_t row, int64_t column) {
    return Right::cell(a, row, column) / a.peers->world;
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
