// Returns ASSAY_ERROR where d is odd.
// Slot: activation.silu_and_mul. Caught by: write.no_return. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    if (a.width % 2 == 1) return faulty::fail(call, ASSAY_ERROR, "odd widths are not supported");
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_SILU(Fault)
