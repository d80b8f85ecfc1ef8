// Releasing one layer hands back a table that all layers share.
// Slot: moe.fused_experts. Caught by: prepare.isolated. Source: slots.md 7.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Moe<Fault> {
  static inline float table[1] = {1.0f};
  static assay_status prepare(const assay_call* call, const assay_moe_weights* w, void** prepared) {
    table[0] = 1.0f;
    return Right::prepare(call, w, prepared);
  }
  static assay_status release(const assay_call* call, void* prepared) {
    table[0] = 0.0f;  // what its next owner writes
    return Right::release(call, prepared);
  }
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) { return table[0] * a.weight(token, k); }
};

}  // namespace

FAULTY_MOE(Fault)
