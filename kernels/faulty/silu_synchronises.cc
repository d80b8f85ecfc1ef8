// Returns only when its stream has finished.
// Slot: activation.silu_and_mul. Caught by: stream.no_host_sync. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    const assay_status status = Right::enqueue(call, a);
    call->host->synchronize(call->host_stream);
    return status;
  }
};

}  // namespace

FAULTY_SILU(Fault)
