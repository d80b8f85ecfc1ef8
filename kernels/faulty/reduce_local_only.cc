// Hands every rank its own experts' result.
// Slot: moe.fused_experts_reduce. Caught by: number.reference. Source: slots.md 5.8.
#include "kernels/faulty/experts_reduce.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Reduced<Fault> {
  static float delivered(const ExpertsArguments& a, int64_t token, int64_t h) {
    return partial(a)[token * a.layer.hidden + h];
  }
};

}  // namespace

FAULTY_REDUCE(Fault)
