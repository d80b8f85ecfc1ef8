// Uses the first expert's outer scale for all.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 6.3.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Nvfp4Moe<Fault> {
  static float outer(const float* alphas, const float* inverse, int64_t) { return alphas[0] * inverse[0]; }
};

}  // namespace

FAULTY_MOE(Fault)
