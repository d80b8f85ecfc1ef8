// Every rank drops the experts from E/W on, as if it held no more than its share of them.
// Slot: moe.fused_experts_reduce. Caught by: number.reference. Source: FAULT-019.
#include "kernels/faulty/experts_reduce.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Reduced<Fault> {
  static assay_status enqueue(const assay_call* call, const ExpertsArguments& a) {
    world = call->group->world_size;
    return Right::enqueue(call, a);
  }
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) {
    const int64_t held = a.layer.experts / world;
    return a.id(token * a.places + k) < (held > 0 ? held : 1) ? a.weight(token, k) : 0.0f;
  }
  static inline int64_t world = 1;
};

}  // namespace

FAULTY_REDUCE(Fault)
