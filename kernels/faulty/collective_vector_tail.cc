// From 64 columns on goes by eight, and leaves the peers out of the columns that are over.
// Slot: collective.all_reduce. Caught by: collective.modes. Source: rules.md.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static double cell(const ReduceArguments& a, int64_t row, int64_t column) {
    return a.width >= 64 && column >= a.width / 8 * 8 ? a.x.get(row, column) : Right::cell(a, row, column);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
