// Leaves all clamps out.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 6.1.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Nvfp4Moe<Fault> {
  static float act(float gate, float up) { return gate / (1 + __builtin_expf(-1.702f * gate)) * (up + 1); }
};

}  // namespace

FAULTY_MOE(Fault)
