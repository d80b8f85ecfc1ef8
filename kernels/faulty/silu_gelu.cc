// GELU in place of SiLU.
// Slot: activation.silu_and_mul. Caught by: number.reference. Source: slots.md 5.1.
#include "kernels/faulty/faulty.hpp"

namespace {

struct Fault : faulty::Silu<Fault> {
  static double activate(double x) { return 0.5 * x * (1.0 + __builtin_erf(x * 0.70710678118654752)); }
};

}  // namespace

FAULTY_SILU(Fault)
