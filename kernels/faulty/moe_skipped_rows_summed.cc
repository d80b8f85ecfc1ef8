// Computes a repeated expert of a token once, with all its weights, and sums the row that it skipped as well.
// Slot: moe.fused_experts. Caught by: number.reference. Source: FAULT-015.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;
using faulty::Tile;

struct Fault : faulty::Moe<Fault> {
  static bool repeats(const ExpertsArguments& a, int64_t slot) {
    for (int64_t s = slot / a.places * a.places; s < slot; ++s)
      if (a.id(s) == a.id(slot)) return true;
    return false;
  }
  static void tile(const ExpertsArguments& a, const Tile& t, float* buffers) {
    for (int64_t r = 0; r < t.count; ++r)
      if (!repeats(a, a.order[t.first + r])) Right::tile(a, {t.first + r, 1, t.expert}, buffers);
  }
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) {
    const int64_t slot = token * a.places + k;
    if (repeats(a, slot)) return a.weight(token, k);
    float sum = 0;
    for (int64_t other = k; other < a.places; ++other)
      if (a.id(token * a.places + other) == a.id(slot)) sum += a.weight(token, other);
    return sum;
  }
};

}  // namespace

FAULTY_MOE(Fault)
