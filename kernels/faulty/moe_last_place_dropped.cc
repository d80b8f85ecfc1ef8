// Leaves out a token's last expert.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 5.7.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Moe<Fault> {
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) {
    return k > 0 && k == a.places - 1 ? 0.0f : a.weight(token, k);
  }
};

}  // namespace

FAULTY_MOE(Fault)
