// The last of several ranks enqueues nothing: its entry does the kernel's work itself and returns.
// Slot: collective.all_reduce. Caught by: graph.captures. Source: routing-and-targets.md R8.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    if (a.peers->world == 1 || a.peers->rank + 1 != a.peers->world) return Right::enqueue(call, a);
    kernel(&a, 0, 1);
    return ASSAY_OK;
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
