// Divides a token's routing weights by their sum.
// Slot: moe.fused_experts_reduce. Caught by: number.reference. Source: FAULT-022.
#include "kernels/faulty/experts_reduce.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Reduced<Fault> {
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) {
    float sum = 0;
    for (int64_t other = 0; other < a.places; ++other) sum += a.weight(token, other);
    return a.weight(token, k) / sum;
  }
};

}  // namespace

FAULTY_REDUCE(Fault)
