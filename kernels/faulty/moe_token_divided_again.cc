// Its map holds tokens where it expects places, and divides by the number of places once more.
// Slot: moe.fused_experts. Caught by: number.reference. Source: FAULT-029.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Moe<Fault> {
  static int64_t token_at(const ExpertsArguments& a, int64_t position) {
    return a.order[position] / a.places / a.places;
  }
};

}  // namespace

FAULTY_MOE(Fault)
