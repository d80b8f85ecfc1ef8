// Adds its result to what the output held.
// Slot: moe.fused_experts. Caught by: write.every_cell. Source: slots.md 5.7.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;
using faulty::Grid;

struct Fault : faulty::Moe<Fault> {
  static void put(const ExpertsArguments& a, int64_t token, int64_t h, float value) {
    const Grid out{a.out, a.cells};
    Right::put(a, token, h, value + static_cast<float>(out.get(token, h)));
  }
};

}  // namespace

FAULTY_MOE(Fault)
