// Treats the input as contiguous.
// Slot: activation.silu_and_mul. Caught by: input.strides. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static double cell(const SiluArguments& a, int64_t row, int64_t column) {
    const int64_t gate = row * 2 * a.width + column;
    return activate(a.x.load(gate)) * a.x.load(gate + a.width);
  }
};

}  // namespace

FAULTY_SILU(Fault)
