// Allocates and releases memory in each call and says GRAPH_SAFE.
// Slot: activation.silu_and_mul. Caught by: graph.declared. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    void* memory = nullptr;
    call->host->allocate(&memory, 256);
    const assay_status status = Right::enqueue(call, a);
    call->host->release(memory);
    return status;
  }
};

}  // namespace

FAULTY_SILU(Fault)
