// Activates the up half and multiplies by the gate.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 5.7.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Moe<Fault> {
  static float act(float gate, float up) { return Right::act(up, gate); }
};

}  // namespace

FAULTY_MOE(Fault)
