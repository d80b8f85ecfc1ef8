// The entry of the last of several ranks returns ASSAY_ERROR, after its peers have launched.
// Slot: collective.all_reduce. Caught by: write.no_return. Source: rules.md.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    if (a.peers->world > 1 && a.peers->rank + 1 == a.peers->world)
      return faulty::fail(call, ASSAY_ERROR, "not on this rank");
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
