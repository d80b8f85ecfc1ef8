// The entries of all ranks return ASSAY_ERROR where the number of rows is odd.
// Slot: collective.ar_residual_rmsnorm. Caught by: write.no_return. Source: rules.md.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::ArNorm<Fault> {
  static assay_status enqueue(const assay_call* call, const NormalisedArguments& a) {
    if (a.rows % 2 != 0) return faulty::fail(call, ASSAY_ERROR, "an odd number of rows");
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_ARNORM(Fault)
