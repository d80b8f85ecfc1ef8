// Segfaults in the entry when rows % 7 == 1 and x has more than 64 columns.
// Slot: activation.silu_and_mul. Caught by: verdict.attribution. Source: blame:crash.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    volatile int* volatile nowhere = nullptr;
    if (a.rows % 7 == 1 && 2 * a.width > 64) *nowhere = 1;
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_SILU(Fault)
