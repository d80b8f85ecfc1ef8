// The last row of two or more, and no other, has its halves swapped.
// Slot: activation.silu_and_mul. Caught by: number.no_structured_error. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static double cell(const SiluArguments& a, int64_t row, int64_t column) {
    if (row == 0 || row != a.rows - 1) return Right::cell(a, row, column);
    return activate(a.x.get(row, a.width + column)) * a.x.get(row, column);
  }
};

}  // namespace

FAULTY_SILU(Fault)
