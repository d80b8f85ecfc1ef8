// Gives every place of a token the mean of its scales.
// Slot: collective.moe_finalize_ar_rmsnorm. Caught by: number.reference. Source: slots.md 5.11.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::Finalize<Fault> {
  static double scale(const NormalisedArguments& a, int64_t token, int64_t) {
    double sum = 0;
    for (int64_t k = 0; k < a.places; ++k) sum += Right::scale(a, token, k);
    return sum / static_cast<double>(a.places);
  }
};

}  // namespace

FAULTY_FINALIZE(Fault)
