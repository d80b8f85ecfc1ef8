// Returns ASSAY_UNSUPPORTED above 2048 columns without a capability that says so.
// Slot: norm.rmsnorm. Caught by: write.no_return. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    if (a.width > 2048) return faulty::fail(call, ASSAY_UNSUPPORTED, "more than 2048 columns");
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_NORM(Fault)
