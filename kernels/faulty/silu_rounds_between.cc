// Rounds the activated gate to 16 bits before the product: inside the tolerance of 16-bit outputs, outside the bound.
// Slot: activation.silu_and_mul. Caught by: number.bound. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static double cell(const SiluArguments& a, int64_t row, int64_t column) {
    faulty::Grid narrow = a.x;
    if (narrow.cells == faulty::Cells::f32) narrow.cells = faulty::Cells::bf16;
    return faulty::rounded(narrow, activate(a.x.get(row, column))) * a.x.get(row, a.width + column);
  }
};

}  // namespace

FAULTY_SILU(Fault)
