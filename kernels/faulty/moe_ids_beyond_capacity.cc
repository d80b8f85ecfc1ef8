// Has room for twice the mean number of rows an expert, and drops the rest.
// Slot: moe.fused_experts. Caught by: number.hard_values. Source: slots.md 4.4.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Moe<Fault> {
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) {
    const int64_t slot = token * a.places + k, capacity = 2 * (a.slots() / a.layer.experts + 1);
    int64_t before = 0;
    for (int64_t s = 0; s < slot; ++s) before += a.id(s) == a.id(slot);
    return before < capacity ? a.weight(token, k) : 0.0f;
  }
};

}  // namespace

FAULTY_MOE(Fault)
