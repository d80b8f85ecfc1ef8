// Only rank 0 ends with the sum; the others keep their own result.
// Slot: moe.fused_experts_reduce. Caught by: collective.reference. Source: slots.md 5.8.
#include "kernels/faulty/experts_reduce.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Reduced<Fault> {
  static assay_status enqueue(const assay_call* call, const ExpertsArguments& a) {
    first = call->group->rank == 0;
    return Right::enqueue(call, a);
  }
  static float delivered(const ExpertsArguments& a, int64_t token, int64_t h) {
    return first ? Right::delivered(a, token, h) : partial(a)[token * a.layer.hidden + h];
  }
  static inline bool first = true;
};

}  // namespace

FAULTY_REDUCE(Fault)
