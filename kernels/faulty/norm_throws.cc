// Throws a C++ exception out of the C entry.
// Slot: norm.rmsnorm. Caught by: verdict.attribution. Source: blame:crash.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static assay_status enqueue(const assay_call*, const NormArguments& a) { throw a.rows; }
};

}  // namespace

FAULTY_NORM(Fault)
