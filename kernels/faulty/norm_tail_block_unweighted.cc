// Every fourth row, the last of its block, is left without the weight.
// Slot: norm.rmsnorm. Caught by: number.no_structured_error. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static double cell(const NormArguments& a, int64_t row, int64_t column, double scale) {
    return row % 4 == 3 ? a.x.get(row, column) * scale : Right::cell(a, row, column, scale);
  }
};

}  // namespace

FAULTY_NORM(Fault)
