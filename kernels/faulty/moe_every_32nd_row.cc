// Rows 31, 63, 95, ... miss their last expert: few enough cells for the comparator.
// Slot: moe.fused_experts. Caught by: number.no_structured_error. Source: rules.md.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Moe<Fault> {
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) {
    return token % 32 == 31 && k == a.places - 1 ? 0.0f : a.weight(token, k);
  }
};

}  // namespace

FAULTY_MOE(Fault)
