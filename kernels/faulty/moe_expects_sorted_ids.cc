// Ends with a token's first expert that is not above the one before: it takes ids for sorted and padded.
// Slot: moe.fused_experts. Caught by: relation.index_order. Source: rules.md.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Moe<Fault> {
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) {
    for (int64_t other = 1; other <= k; ++other)
      if (a.id(token * a.places + other) < a.id(token * a.places + other - 1)) return 0.0f;
    return a.weight(token, k);
  }
};

}  // namespace

FAULTY_MOE(Fault)
