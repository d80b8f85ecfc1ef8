// Launches on the legacy stream instead of the call's.
// Slot: activation.silu_and_mul. Caught by: stream.ordered. Source: FAULT-038.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    return faulty::launch(call, nullptr, kernel, host_kernels::blocks_for(a.rows), a);
  }
};

}  // namespace

FAULTY_SILU(Fault)
