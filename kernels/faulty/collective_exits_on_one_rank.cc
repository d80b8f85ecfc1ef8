// The entry of rank 1 leaves the process with exit(7).
// Slot: collective.all_reduce. Caught by: verdict.attribution. Source: blame:exit.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    if (a.peers->rank == 1) exit(7);
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
