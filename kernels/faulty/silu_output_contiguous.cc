// Treats the output as contiguous.
// Slot: activation.silu_and_mul. Caught by: write.strides. Source: slots.md 5.1.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static void row(const SiluArguments& a, int64_t row) {
    for (int64_t column = 0; column < a.width; ++column) {
      a.out.store(row * a.width + column, cell(a, row, column));
    }
  }
};

}  // namespace

FAULTY_SILU(Fault)
