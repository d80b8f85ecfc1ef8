// Prepare scales a raw weight in place.
// Slot: moe.fused_experts. Caught by: prepare.raw_unchanged. Source: blame:device_fault,crash.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Moe<Fault> {
  static assay_status prepare(const assay_call* call, const assay_moe_weights* w, void** prepared) {
    static_cast<volatile char*>(w->w13->data)[0] = 0;
    return Right::prepare(call, w, prepared);
  }
};

}  // namespace

FAULTY_MOE(Fault)
