// Every 64th row is zero, a sixtieth of the energy: the cosine stays above its floor.
// Slot: moe.fused_experts. Caught by: number.no_structured_error. Source: rules.md.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Nvfp4Moe<Fault> {
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) {
    return token % 64 == 63 ? 0.0f : a.weight(token, k);
  }
};

}  // namespace

FAULTY_MOE(Fault)
