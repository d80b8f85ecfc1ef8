// Does all its work and returns ASSAY_ERROR.
// Slot: activation.silu_and_mul. Caught by: write.no_return. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

struct Fault : faulty::Silu<Fault> {
  static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
    Right::entry(call, x, out);
    return faulty::fail(call, ASSAY_ERROR, "the work was queued all the same");
  }
};

}  // namespace

FAULTY_SILU(Fault)
