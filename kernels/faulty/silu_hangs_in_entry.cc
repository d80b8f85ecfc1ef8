// Never returns from the entry when there are three rows or more.
// Slot: activation.silu_and_mul. Caught by: verdict.attribution. Source: blame:timeout.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    volatile bool ready = a.rows < 3;
    while (!ready) {
    }
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_SILU(Fault)
