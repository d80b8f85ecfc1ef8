// Adds the sum over ranks of the last place, a shared expert, on every rank before the reduction.
// Slot: collective.moe_finalize_ar_rmsnorm. Caught by: number.reference. Source: FAULT-020.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::Finalize<Fault> {
  static double term(const NormalisedArguments& a, int64_t token, int64_t k, int64_t column) {
    const bool shared = a.places > 1 && k + 1 == a.places;
    return Right::term(a, token, k, column) * (shared ? a.peers->world : 1);
  }
};

}  // namespace

FAULTY_FINALIZE(Fault)
