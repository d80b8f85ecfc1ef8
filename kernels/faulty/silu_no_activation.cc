// Multiplies the halves without SiLU.
// Slot: activation.silu_and_mul. Caught by: number.reference. Source: slots.md 5.1.
#include "kernels/faulty/faulty.hpp"

namespace {

struct Fault : faulty::Silu<Fault> {
  static double activate(double x) { return x; }
};

}  // namespace

FAULTY_SILU(Fault)
