// Flushes results under a tenth of atol to zero, where the comparator cannot see it.
// Slot: activation.silu_and_mul. Caught by: number.bound. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static double cell(const SiluArguments& a, int64_t row, int64_t column) {
    const double value = Right::cell(a, row, column);
    return __builtin_fabs(value) < (a.x.cells == faulty::Cells::f32 ? 1e-6 : 1e-3) ? 0.0 : value;
  }
};

}  // namespace

FAULTY_SILU(Fault)
