// Uses the default eps of 1e-6 whatever the call says.
// Slot: norm.rmsnorm. Caught by: input.scalars. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    NormArguments fixed = a;
    fixed.eps = 1e-6;
    return Right::enqueue(call, fixed);
  }
};

}  // namespace

FAULTY_NORM(Fault)
