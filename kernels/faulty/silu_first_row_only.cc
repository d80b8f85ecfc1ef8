// Writes the first row only.
// Slot: activation.silu_and_mul. Caught by: write.every_cell. Source: slots.md 5.1.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static void row(const SiluArguments& a, int64_t row) {
    if (row == 0) Right::row(a, row);
  }
};

}  // namespace

FAULTY_SILU(Fault)
