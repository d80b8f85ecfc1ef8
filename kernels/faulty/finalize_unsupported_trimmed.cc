// Returns ASSAY_UNSUPPORTED where fewer rows are kept than were exported, without a capability that says so.
// Slot: collective.moe_finalize_ar_rmsnorm. Caught by: write.no_return. Source: rules.md.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::Finalize<Fault> {
  static assay_status enqueue(const assay_call* call, const NormalisedArguments& a) {
    if (a.rows < a.tokens) return faulty::fail(call, ASSAY_UNSUPPORTED, "rows are trimmed");
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_FINALIZE(Fault)
