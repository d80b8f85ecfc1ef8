// The kernel of rank 1 writes through a null pointer, while its peers wait for it.
// Slot: collective.all_reduce. Caught by: verdict.attribution. Source: blame:crash.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static void publish(const ReduceArguments& a, int64_t end) {
    volatile float* volatile nowhere = nullptr;
    if (a.peers->rank == 1) *nowhere = 1;
    Right::publish(a, end);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
