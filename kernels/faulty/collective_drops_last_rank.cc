// Leaves the last of three or more ranks out: the sum follows who sits where.
// Slot: collective.all_reduce. Caught by: relation.rank_permutation. Source: rules.md.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static double cell(const ReduceArguments& a, int64_t row, int64_t column) {
    double sum = 0;
    for (int rank = 0; rank < (a.peers->world < 3 ? a.peers->world : a.peers->world - 1); ++rank)
      sum += part(a, rank, row, column);
    return sum;
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
