// Counts tiles down from an unsigned zero where an expert has no tokens (FAULT-017).
// Slot: moe.fused_experts. Caught by: verdict.attribution. Source: blame:timeout.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Moe<Fault> {
  static void route(const ExpertsArguments& a) {
    Right::route(a);
    int64_t next = 0;
    for (int64_t e = 0; e < a.layer.experts; ++e) {
      uint64_t rows = 0;
      for (; next < a.slots() && a.id(a.order[next]) == e; ++next) ++rows;
      volatile uint64_t tiles = (rows + 7) / 8;
      do {
        tiles = tiles - 1;
      } while (tiles != 0);
    }
  }
};

}  // namespace

FAULTY_MOE(Fault)
