// Caps routing weights at 2.3, which is above all that plain routing draws.
// Slot: moe.fused_experts. Caught by: relation.linearity. Source: rules.md.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Moe<Fault> {
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) {
    const float weight = a.weight(token, k);
    return weight < 2.3f ? weight : 2.3f;
  }
};

}  // namespace

FAULTY_MOE(Fault)
