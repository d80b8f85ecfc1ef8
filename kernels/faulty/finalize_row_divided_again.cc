// Takes an entry of the map for a place and divides by the number of places once more.
// Slot: collective.moe_finalize_ar_rmsnorm. Caught by: number.reference. Source: FAULT-029.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::Finalize<Fault> {
  static int64_t source(const NormalisedArguments& a, int64_t token, int64_t k) {
    return Right::source(a, token, k) / a.places;
  }
};

}  // namespace

FAULTY_FINALIZE(Fault)
