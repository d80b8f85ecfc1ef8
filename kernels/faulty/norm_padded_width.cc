// The mean is taken over the width rounded up to 64 columns.
// Slot: norm.rmsnorm. Caught by: number.reference. Source: slots.md 5.2.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static double scale(const NormArguments& a, int64_t row) {
    const auto padded = static_cast<double>((a.width + 63) / 64 * 64);
    return 1.0 / __builtin_sqrt(sum(a, row) / padded + a.eps);
  }
};

}  // namespace

FAULTY_NORM(Fault)
