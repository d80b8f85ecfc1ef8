// Prepare copies w13 with its halves exchanged.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 5.7.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::Layer;

struct Fault : faulty::Moe<Fault> {
  static assay_status prepare(const assay_call* call, const assay_moe_weights* w, void** prepared) {
    if (const assay_status status = Right::prepare(call, w, prepared); status != ASSAY_OK) return status;
    auto& layer = *static_cast<Layer*>(*prepared);
    const int64_t half = layer.inter * layer.hidden * host_kernels::bytes_of(layer.cells);
    void* copy = nullptr;
    if (call->host->allocate(&copy, static_cast<size_t>(2 * half * layer.experts)) != ASSAY_OK) return ASSAY_ERROR;
    for (int64_t e = 0; e < 2 * layer.experts; ++e) {
      const char* from = static_cast<const char*>(layer.w13) + (e ^ 1) * half;
      __builtin_memcpy(static_cast<char*>(copy) + e * half, from, static_cast<size_t>(half));
    }
    layer.w13 = copy;
    return ASSAY_OK;
  }
  static assay_status release(const assay_call* call, void* prepared) {
    call->host->release(const_cast<void*>(static_cast<Layer*>(prepared)->w13));
    return Right::release(call, prepared);
  }
};

}  // namespace

FAULTY_MOE(Fault)
