// Writes one element behind the last cell.
// Slot: norm.rmsnorm. Caught by: write.only_cells. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static void row(const NormArguments& a, int64_t row) {
    Right::row(a, row);
    if (row == a.rows - 1) a.out.set(row, a.width, 0.0);
  }
};

}  // namespace

FAULTY_NORM(Fault)
