// Weights are kept in a static variable that every prepare overwrites: all layers work with the last one's.
// Slot: moe.fused_experts. Caught by: prepare.isolated. Source: rules.md.
#include "moe.cuh"

static faulty::MoeLayer last_layer;

struct StaticPrepared : faulty::Moe {
  template <class F>
  static cudaError_t prepare(const assay_call*, const assay_moe_weights*, faulty::MoeLayer* layer) {
    last_layer = *layer;
    return cudaSuccess;
  }
  static faulty::MoeLayer layer_of(const void*) { return last_layer; }
};

FAULTY_MOE(StaticPrepared, nullptr)
