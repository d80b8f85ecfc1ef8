// Takes -0 in a peer's buffer for data that has not arrived, and waits for it (FAULT-023).
// Slot: collective.all_reduce. Caught by: verdict.attribution. Source: blame:timeout.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static double part(const ReduceArguments& a, int rank, int64_t row, int64_t column) {
    const volatile float* cell = a.peers->buffer<const float>(rank) + (row - a.first) * a.width + column;
    while (*cell == 0 && __builtin_signbit(*cell)) sched_yield();
    return *cell;
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
