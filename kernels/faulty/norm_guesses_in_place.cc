// Takes any output below its input for an in-place call and expects the first pass to have rescaled the input.
// Slot: norm.rmsnorm. Caught by: write.no_alias. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static double cell(const NormArguments& a, int64_t row, int64_t column, double scale) {
    const bool in_place = a.out.rows.data <= a.x.rows.data;
    return a.x.get(row, column) * (in_place ? 1.0 : scale) * a.weight.get(0, column);
  }
};

}  // namespace

FAULTY_NORM(Fault)
