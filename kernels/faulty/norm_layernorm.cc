// LayerNorm: subtracts the mean of the row.
// Slot: norm.rmsnorm. Caught by: number.reference. Source: slots.md 5.2.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static void row(const NormArguments& a, int64_t row) {
    const auto count = static_cast<double>(a.width);
    double mean = 0, variance = 0;
    for (int64_t column = 0; column < a.width; ++column) mean += a.x.get(row, column) / count;
    for (int64_t column = 0; column < a.width; ++column) {
      const double centred = a.x.get(row, column) - mean;
      variance += centred * centred / count;
    }
    const double scale = 1.0 / __builtin_sqrt(variance + a.eps);
    for (int64_t column = 0; column < a.width; ++column) {
      a.out.set(row, column, (a.x.get(row, column) - mean) * scale * a.weight.get(0, column));
    }
  }
};

}  // namespace

FAULTY_NORM(Fault)
