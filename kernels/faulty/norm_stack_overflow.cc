// Recurses in the entry until the stack is gone.
// Slot: norm.rmsnorm. Caught by: verdict.attribution. Source: blame:crash.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static int64_t descend(int64_t depth, int64_t floor) {
    volatile char frame[4096];
    frame[0] = static_cast<char>(depth);
    return depth == floor ? 0 : descend(depth + 1, floor) + frame[0];
  }
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    return descend(0, INT64_MAX) == 0 ? Right::enqueue(call, a) : ASSAY_ERROR;
  }
};

}  // namespace

FAULTY_NORM(Fault)
