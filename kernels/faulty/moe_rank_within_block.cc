// Ranks the rows of an expert within blocks of 256 places and forgets the blocks before: rows overlap.
// Slot: moe.fused_experts. Caught by: number.reference. Source: FAULT-016.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;
using faulty::most_experts;

struct Fault : faulty::Moe<Fault> {
  static void route(const ExpertsArguments& a) {
    int64_t starts[most_experts + 1] = {};
    const int64_t slots = a.slots();
    for (int64_t s = 0; s < slots; ++s) ++starts[a.id(s) + 1];
    for (int64_t e = 0; e < a.layer.experts; ++e) starts[e + 1] += starts[e];
    for (int64_t s = 0; s < slots; ++s) a.order[s] = static_cast<int32_t>(s);
    for (int64_t s = 0; s < slots; ++s) {
      int64_t rank = 0;
      for (int64_t other = s / 256 * 256; other < s; ++other) rank += a.id(other) == a.id(s);
      a.place[s] = static_cast<int32_t>(starts[a.id(s)] + rank);
      a.order[a.place[s]] = static_cast<int32_t>(s);
    }
  }
};

}  // namespace

FAULTY_MOE(Fault)
