// Masks the element behind each row by a zero instead of leaving it out: NaN or infinity there reaches the output.
// Slot: activation.silu_and_mul. Caught by: input.bounds. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static double cell(const SiluArguments& a, int64_t row, int64_t column) {
    return Right::cell(a, row, column) + 0.0 * a.x.get(row, 2 * a.width);
  }
};

}  // namespace

FAULTY_SILU(Fault)
