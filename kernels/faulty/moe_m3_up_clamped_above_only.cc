// Clamps the up half from above only.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 6.1.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::M3Moe<Fault> {
  static float act(float gate, float up) {
    const float g = gate < 7 ? gate : 7;
    return host_kernels::silu(1.702f * g) / 1.702f * ((up < 7 ? up : 7) + 1);
  }
};

}  // namespace

FAULTY_MOE(Fault)
