// The entry of the last of several ranks never returns.
// Slot: collective.all_reduce. Caught by: verdict.attribution. Source: blame:timeout.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    volatile bool ready = a.peers->world == 1 || a.peers->rank + 1 < a.peers->world;
    while (!ready) {
    }
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
