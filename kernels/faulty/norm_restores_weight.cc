// Changes a weight and restores it before the kernel ends.
// Slot: norm.rmsnorm. Caught by: input.unchanged. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static void row(const NormArguments& a, int64_t row) {
    const double weight = a.weight.get(0, 0);
    a.weight.set(0, 0, weight + 1.0);
    a.weight.set(0, 0, weight);
    Right::row(a, row);
  }
};

}  // namespace

FAULTY_NORM(Fault)
