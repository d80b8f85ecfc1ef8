// Prepare keeps sixteen copies of the weights in float64.
// Slot: moe.fused_experts. Caught by: prepare.bounded. Source: slots.md 14.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Moe<Fault> {
  // Reserved and never touched; handed back with the layer.
  static inline void* copies[64] = {};
  static inline const void* owners[64] = {};
  static assay_status prepare(const assay_call* call, const assay_moe_weights* w, void** prepared) {
    if (const assay_status status = Right::prepare(call, w, prepared); status != ASSAY_OK) return status;
    for (int i = 0; i < 64; ++i) {
      if (owners[i] != nullptr) continue;
      const int64_t cells = 3 * w->num_experts * w->intermediate * w->hidden_size;
      if (call->host->allocate(&copies[i], static_cast<size_t>(16 * 8 * cells)) != ASSAY_OK) return ASSAY_ERROR;
      owners[i] = *prepared;
      break;
    }
    return ASSAY_OK;
  }
  static assay_status release(const assay_call* call, void* prepared) {
    for (int i = 0; i < 64; ++i) {
      if (owners[i] != prepared) continue;
      call->host->release(copies[i]);
      owners[i] = nullptr;
    }
    return Right::release(call, prepared);
  }
};

}  // namespace

FAULTY_MOE(Fault)
