// Halves what it publishes and doubles what it reads where its own first cell is negative, unlike its peers.
// Slot: collective.all_reduce. Caught by: collective.reference. Source: rules.md.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static double scale(const ReduceArguments& a) { return a.x.get(0, 0) < 0 ? 0.5 : 1.0; }
  static void publish(const ReduceArguments& a, int64_t end) {
    float* mine = a.peers->buffer<float>(a.peers->rank);
    for (int64_t row = a.first; row < end; ++row)
      for (int64_t column = 0; column < a.width; ++column)
        *mine++ = static_cast<float>(scale(a) * a.x.get(row, column));
  }
  static double part(const ReduceArguments& a, int rank, int64_t row, int64_t column) {
    return Right::part(a, rank, row, column) / scale(a);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
