// Returns ASSAY_UNSUPPORTED for a layer of one expert, without a capability that says so.
// Slot: moe.fused_experts_reduce. Caught by: write.no_return. Source: rules.md.
#include "kernels/faulty/experts_reduce.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Reduced<Fault> {
  static assay_status enqueue(const assay_call* call, const ExpertsArguments& a) {
    if (a.layer.experts == 1) return faulty::fail(call, ASSAY_UNSUPPORTED, "one expert");
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_REDUCE(Fault)
