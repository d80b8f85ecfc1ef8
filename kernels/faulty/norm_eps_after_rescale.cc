// Rescales each row by its largest magnitude and adds eps afterwards: eps acts as eps * max^2, and a zero row is 0/0.
// Slot: norm.rmsnorm. Caught by: number.hard_values. Source: FAULT-004.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static void row(const NormArguments& a, int64_t row) {
    double largest = 0, sum = 0;
    for (int64_t column = 0; column < a.width; ++column) {
      largest = __builtin_fmax(largest, __builtin_fabs(a.x.get(row, column)));
    }
    for (int64_t column = 0; column < a.width; ++column) {
      const double rescaled = a.x.get(row, column) / largest;
      sum += rescaled * rescaled;
    }
    const double scale = 1.0 / (largest * __builtin_sqrt(sum / static_cast<double>(a.width) + a.eps));
    for (int64_t column = 0; column < a.width; ++column) a.out.set(row, column, cell(a, row, column, scale));
  }
};

}  // namespace

FAULTY_NORM(Fault)
