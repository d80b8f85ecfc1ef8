// Adds up the squares one after the other in fp16, which stands still at 2048 and overflows at 65520.
// Slot: norm.rmsnorm. Caught by: number.reference. Source: slots.md 5.2.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static double sum(const NormArguments& a, int64_t row) {
    host_kernels::Half total{};
    for (int64_t column = 0; column < a.width; ++column) {
      const auto value = static_cast<float>(a.x.get(row, column));
      host_kernels::store(total, host_kernels::to_float(total) + value * value);
    }
    return host_kernels::to_float(total);
  }
};

}  // namespace

FAULTY_NORM(Fault)
