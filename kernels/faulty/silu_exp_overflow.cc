// Forms SiLU as x e^x / (1 + e^x) in float, which is infinite or NaN for gates above 84.
// Slot: activation.silu_and_mul. Caught by: number.finite. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

struct Fault : faulty::Silu<Fault> {
  static double activate(double x) {
    const auto narrow = static_cast<float>(x);
    const float power = __builtin_expf(narrow);
    return narrow * power / (1.0f + power);
  }
};

}  // namespace

FAULTY_SILU(Fault)
