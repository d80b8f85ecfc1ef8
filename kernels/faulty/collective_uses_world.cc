// Takes the group that it was initialised with first for that of every call: the world.
// Slot: collective.all_reduce. Caught by: collective.group_only. Source: rules.md.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    static const faulty::Peers* const world = a.peers;
    ReduceArguments of_world = a;
    of_world.peers = world;
    return Right::enqueue(call, of_world);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
