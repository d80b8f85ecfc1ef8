// Reduces the first four rows and copies the others.
// Slot: collective.all_reduce. Caught by: collective.reference. Source: slots.md 5.9.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static double cell(const ReduceArguments& a, int64_t row, int64_t column) {
    return row < 4 ? Right::cell(a, row, column) : a.x.get(row, column);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
