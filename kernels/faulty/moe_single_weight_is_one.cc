// Takes the weight of a token's only expert for 1.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 5.7.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Moe<Fault> {
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) {
    return a.places == 1 ? 1.0f : a.weight(token, k);
  }
};

}  // namespace

FAULTY_MOE(Fault)
