// SwiGLU with an alpha of 1: a cosine of 0.99 on plain values.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 6.1.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Nvfp4Moe<Fault> {
  static float act(float gate, float up) {
    const float u = up < -7 ? -7 : up < 7 ? up : 7;
    return host_kernels::silu(gate < 7 ? gate : 7) * (u + 1);
  }
};

}  // namespace

FAULTY_MOE(Fault)
