// Adds the sum over ranks of the last place, a shared expert, on every rank before the reduction.
// Slot: moe.fused_experts_reduce. Caught by: number.reference. Source: FAULT-020.
#include "kernels/faulty/experts_reduce.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Reduced<Fault> {
  static assay_status enqueue(const assay_call* call, const ExpertsArguments& a) {
    world = static_cast<float>(call->group->world_size);
    return Right::enqueue(call, a);
  }
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) {
    return a.weight(token, k) * (a.places > 1 && k + 1 == a.places ? world : 1.0f);
  }
  static inline float world = 1;
};

}  // namespace

FAULTY_REDUCE(Fault)
