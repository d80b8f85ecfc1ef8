// Edits the strides of the output descriptor.
// Slot: activation.silu_and_mul. Caught by: write.binding. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

struct Fault : faulty::Silu<Fault> {
  static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
    const assay_status status = Right::entry(call, x, out);
    out->strides[0] += 1;
    return status;
  }
};

}  // namespace

FAULTY_SILU(Fault)
