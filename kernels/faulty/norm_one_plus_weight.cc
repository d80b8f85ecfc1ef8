// Multiplies by 1 + weight.
// Slot: norm.rmsnorm. Caught by: number.reference. Source: slots.md 5.2.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static double cell(const NormArguments& a, int64_t row, int64_t column, double scale) {
    return a.x.get(row, column) * scale * (1.0 + a.weight.get(0, column));
  }
};

}  // namespace

FAULTY_NORM(Fault)
