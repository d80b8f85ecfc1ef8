// SiLU in place of the clamped SwiGLU.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 6.1.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::M3Moe<Fault> {
  static float act(float gate, float up) { return host_kernels::silu(gate) * up; }
};

}  // namespace

FAULTY_MOE(Fault)
