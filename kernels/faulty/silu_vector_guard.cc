// Loads 16-byte vectors wherever 2d, and not d, fills whole vectors; the second half is then read from an address
// rounded down.
// Slot: activation.silu_and_mul. Caught by: number.extremes. Source: FAULT-002.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static double cell(const SiluArguments& a, int64_t row, int64_t column) {
    const int64_t vector = 16 / a.x.cell_bytes();
    const int64_t half = 2 * a.width % vector == 0 ? a.width / vector * vector : a.width;
    return activate(a.x.get(row, column)) * a.x.get(row, half + column);
  }
};

}  // namespace

FAULTY_SILU(Fault)
