// Its table of offsets leaves out experts without tokens: later ones use other weights.
// Slot: moe.fused_experts. Caught by: number.reference. Source: FAULT-017.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Moe<Fault> {
  static int64_t expert_at(const ExpertsArguments& a, int64_t position) {
    int64_t expert = 0;
    for (int64_t p = 1; p <= position; ++p) expert += a.id(a.order[p]) != a.id(a.order[p - 1]);
    return expert;
  }
};

}  // namespace

FAULTY_MOE(Fault)
