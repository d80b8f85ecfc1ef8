// Leaves the calling thread rounding down.
// Slot: activation.silu_and_mul. Caught by: write.surroundings. Source: rules.md.
#include <fenv.h>

#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    const assay_status status = Right::enqueue(call, a);
    fesetround(FE_DOWNWARD);
    return status;
  }
};

}  // namespace

FAULTY_SILU(Fault)
