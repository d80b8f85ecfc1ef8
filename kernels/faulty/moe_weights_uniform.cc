// Gives every expert of a token the same share.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 5.7.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Moe<Fault> {
  static float share(const ExpertsArguments& a, int64_t, int64_t) { return 1.0f / static_cast<float>(a.places); }
};

}  // namespace

FAULTY_MOE(Fault)
