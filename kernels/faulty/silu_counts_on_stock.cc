// Refuses rows of an odd width inside its domain and counts on the engine to call stock instead.
// Slot: activation.silu_and_mul. Caught by: route.no_silent_retry. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    if (a.width % 2 != 0) return faulty::fail(call, ASSAY_UNSUPPORTED, "odd widths are left to the fallback");
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_SILU(Fault)
