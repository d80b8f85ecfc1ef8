// Applies the routing weights in the experts and again where their results are added up.
// Slot: moe.fused_experts_reduce. Caught by: number.reference. Source: FAULT-022.
#include "kernels/faulty/experts_reduce.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Reduced<Fault> {
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) {
    return a.weight(token, k) * a.weight(token, k);
  }
};

}  // namespace

FAULTY_REDUCE(Fault)
