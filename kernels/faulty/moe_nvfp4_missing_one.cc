// Multiplies by the up half without adding 1.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 6.1.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Nvfp4Moe<Fault> {
  static float act(float gate, float up) { return Right::act(gate, 0.0f) * (up < -7 ? -7 : up < 7 ? up : 7); }
};

}  // namespace

FAULTY_MOE(Fault)
