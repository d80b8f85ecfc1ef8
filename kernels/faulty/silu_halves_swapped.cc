// Activates the second half and multiplies by the first.
// Slot: activation.silu_and_mul. Caught by: number.reference. Source: slots.md 5.1.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static double cell(const SiluArguments& a, int64_t row, int64_t column) {
    return activate(a.x.get(row, a.width + column)) * a.x.get(row, column);
  }
};

}  // namespace

FAULTY_SILU(Fault)
