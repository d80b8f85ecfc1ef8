// Reads the scales place by place, as the map is.
// Slot: collective.moe_finalize_ar_rmsnorm. Caught by: number.reference. Source: slots.md 5.11.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::Finalize<Fault> {
  static double scale(const NormalisedArguments& a, int64_t token, int64_t k) {
    const int64_t at = token + k * a.tokens;
    return Right::scale(a, at / a.places, at % a.places);
  }
};

}  // namespace

FAULTY_FINALIZE(Fault)
