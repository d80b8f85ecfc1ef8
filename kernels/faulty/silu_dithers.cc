// Nudges each result by a few hundredths of its last place, differently in each run, and says DETERMINISTIC.
// Slot: activation.silu_and_mul. Caught by: relation.repeatable. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static double cell(const SiluArguments& a, int64_t row, int64_t column) {
    static uint64_t runs = 0;
    const uint64_t hash = __atomic_add_fetch(&runs, 1u, __ATOMIC_RELAXED) * 0x9e3779b97f4a7c15u >> 32;
    const double last_place = a.out.cells == faulty::Cells::f32   ? 0x1p-24
                              : a.out.cells == faulty::Cells::f16 ? 0x1p-11
                                                                  : 0x1p-8;
    const double nudge = static_cast<double>(hash) * 0x1p-32 - 0.5;
    return Right::cell(a, row, column) * (1.0 + 0.08 * nudge * last_place);
  }
};

}  // namespace

FAULTY_SILU(Fault)
