// A global scale that is 15 % too large: the cosine is 1.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 6.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Nvfp4Moe<Fault> {
  static void put(const ExpertsArguments& a, int64_t token, int64_t h, float value) {
    Right::put(a, token, h, 1.15f * value);
  }
};

}  // namespace

FAULTY_MOE(Fault)
