// Takes alphas for the weights' outer scales and forgets the activation scale in them.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 6.2.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Nvfp4Moe<Fault> {
  static float outer(const float* alphas, const float*, int64_t expert) { return alphas[expert] * 1024.0f; }
};

}  // namespace

FAULTY_MOE(Fault)
