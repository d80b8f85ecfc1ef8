// Writes all cells but the last one of the last row.
// Slot: activation.silu_and_mul. Caught by: write.every_cell. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static void row(const SiluArguments& a, int64_t row) {
    const int64_t end = row == a.rows - 1 ? a.width - 1 : a.width;
    for (int64_t column = 0; column < end; ++column) a.out.set(row, column, cell(a, row, column));
  }
};

}  // namespace

FAULTY_SILU(Fault)
