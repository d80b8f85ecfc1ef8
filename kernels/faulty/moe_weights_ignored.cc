// Adds up the experts' results without the routing weights.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 5.7.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Moe<Fault> {
  static float share(const ExpertsArguments&, int64_t, int64_t) { return 1.0f; }
};

}  // namespace

FAULTY_MOE(Fault)
