// Writes one element of the padding between rows.
// Slot: activation.silu_and_mul. Caught by: write.only_cells. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static void row(const SiluArguments& a, int64_t row) {
    Right::row(a, row);
    const bool padded = a.out.rows.leads > 0 && a.out.rows.strides[0] > a.width;
    if (padded && row < a.rows - 1) a.out.set(row, a.width, 0.0);
  }
};

}  // namespace

FAULTY_SILU(Fault)
