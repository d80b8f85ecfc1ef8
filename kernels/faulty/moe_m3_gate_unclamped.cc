// Leaves the gate's upper clamp out.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 6.1.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::M3Moe<Fault> {
  static float act(float gate, float up) {
    const float u = up < -7 ? -7 : up < 7 ? up : 7;
    return gate / (1 + __builtin_expf(-1.702f * gate)) * (u + 1);
  }
};

}  // namespace

FAULTY_MOE(Fault)
