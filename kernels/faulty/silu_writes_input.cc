// Writes an element of the read-only input.
// Slot: activation.silu_and_mul. Caught by: input.unchanged. Source: blame:device_fault.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static void row(const SiluArguments& a, int64_t row) {
    Right::row(a, row);
    if (row == 0) a.x.set(0, 0, -a.x.get(0, 0));
  }
};

}  // namespace

FAULTY_SILU(Fault)
