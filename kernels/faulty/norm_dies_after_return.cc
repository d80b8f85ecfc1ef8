// Sets an alarm that ends the process two milliseconds after the entry has returned.
// Slot: norm.rmsnorm. Caught by: verdict.attribution. Source: blame:corrupts_worker,crash.
#include <sys/time.h>

#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    const itimerval soon{{0, 0}, {0, 2000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_NORM(Fault)
