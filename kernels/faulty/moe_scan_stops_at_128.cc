// The scan of the experts' counts ends with the 128th: later ones share its place.
// Slot: moe.fused_experts. Caught by: number.no_structured_error. Source: FAULT-016.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;
using faulty::most_experts;

struct Fault : faulty::Moe<Fault> {
  static void route(const ExpertsArguments& a) {
    int64_t starts[most_experts + 1] = {};
    const int64_t slots = a.slots();
    for (int64_t s = 0; s < slots; ++s) ++starts[a.id(s) + 1];
    for (int64_t e = 0; e < a.layer.experts; ++e) starts[e + 1] = e < 128 ? starts[e + 1] + starts[e] : starts[128];
    for (int64_t s = 0; s < slots; ++s) a.order[s] = static_cast<int32_t>(s);
    for (int64_t s = 0; s < slots; ++s) {
      const int64_t place = starts[a.id(s)]++;
      a.place[s] = static_cast<int32_t>(place < slots ? place : slots - 1);
      a.order[a.place[s]] = static_cast<int32_t>(s);
    }
  }
};

}  // namespace

FAULTY_MOE(Fault)
