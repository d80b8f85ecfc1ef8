// Leaves the weight out.
// Slot: norm.rmsnorm. Caught by: number.reference. Source: slots.md 5.2.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static double cell(const NormArguments& a, int64_t row, int64_t column, double scale) {
    return a.x.get(row, column) * scale;
  }
};

}  // namespace

FAULTY_NORM(Fault)
