// Divides by the number of ranks: the mean.
// Slot: moe.fused_experts_reduce. Caught by: number.reference. Source: slots.md 5.8.
#include "kernels/faulty/experts_reduce.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Reduced<Fault> {
  static assay_status enqueue(const assay_call* call, const ExpertsArguments& a) {
    world = static_cast<float>(call->group->world_size);
    return Right::enqueue(call, a);
  }
  static float delivered(const ExpertsArguments& a, int64_t token, int64_t h) {
    return Right::delivered(a, token, h) / world;
  }
  static inline float world = 1;
};

}  // namespace

FAULTY_REDUCE(Fault)
