// Leaves eps out.
// Slot: norm.rmsnorm. Caught by: input.scalars. Source: slots.md 5.2.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static double scale(const NormArguments& a, int64_t row) {
    return 1.0 / __builtin_sqrt(sum(a, row) / static_cast<double>(a.width));
  }
};

}  // namespace

FAULTY_NORM(Fault)
