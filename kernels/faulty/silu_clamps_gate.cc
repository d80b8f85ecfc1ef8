// Its table of SiLU ends at 16: larger gates count as 16.
// Slot: activation.silu_and_mul. Caught by: number.hard_values. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

struct Fault : faulty::Silu<Fault> {
  static double activate(double x) { return Right::activate(x < 16.0 ? x : 16.0); }
};

}  // namespace

FAULTY_SILU(Fault)
