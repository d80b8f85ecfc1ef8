// Stores two elements at a time: a row of odd width also overwrites the element behind it, which may be the next row.
// Slot: norm.rmsnorm. Caught by: write.only_cells. Source: FAULT-003.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static void row(const NormArguments& a, int64_t row) {
    Right::row(a, row);
    if (a.width % 2 == 1) a.out.set(row, a.width, a.out.get(row, a.width - 1));
  }
};

}  // namespace

FAULTY_NORM(Fault)
