// Asks the environment for its rank, and adds its own x in that one's place.
// Slot: collective.all_reduce. Caught by: collective.group_only. Source: rules.md.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static double part(const ReduceArguments& a, int rank, int64_t row, int64_t column) {
    return rank == ambient() % a.peers->world ? a.x.get(row, column) : Right::part(a, rank, row, column);
  }
  static int ambient() {
    const char* text = getenv("RANK");
    return text ? atoi(text) : 0;
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
