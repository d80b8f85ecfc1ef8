// The entry of the last of several ranks returns ASSAY_UNSUPPORTED, while its peers are in the call.
// Slot: collective.all_reduce. Caught by: collective.all_rank_selection. Source: rules.md.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    if (a.peers->world > 1 && a.peers->rank + 1 == a.peers->world) return ASSAY_UNSUPPORTED;
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
