// Works from the weights that were prepared last, whatever the call says.
// Slot: moe.fused_experts. Caught by: prepare.isolated. Source: slots.md 7.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::Layer;

struct Fault : faulty::Moe<Fault> {
  static inline Layer* latest = nullptr;
  static assay_status prepare(const assay_call* call, const assay_moe_weights* w, void** prepared) {
    const assay_status status = Right::prepare(call, w, prepared);
    if (status == ASSAY_OK) latest = static_cast<Layer*>(*prepared);
    return status;
  }
  static assay_status release(const assay_call* call, void* prepared) {
    if (latest == prepared) latest = nullptr;
    return Right::release(call, prepared);
  }
  static assay_status entry(const assay_call* call, assay_in x, assay_in ids, assay_in weights, const void* prepared,
                            assay_out out) {
    const auto& asked = *static_cast<const Layer*>(prepared);
    const bool fits = latest != nullptr && latest->hidden == asked.hidden && latest->experts >= asked.experts;
    return Right::entry(call, x, ids, weights, fits ? latest : prepared, out);
  }
};

}  // namespace

FAULTY_MOE(Fault)
