// variants.hpp: what the slots of this library have in common, and the list of their variants.
//
// Promises: join() obtains zeroed symmetric memory and finds how many blocks may wait for peers; every rank of a group
// gets the same count. Slots differ in their entry and in the kernels that init loads.
// Who uses it: library.cc, and the .cu file of each slot.
#pragma once

#include "assay/abi.h"

namespace assay_cuda {

// In init, by all ranks: *state becomes a Peers, which part() ends. preload returns a cudaError_t, 0 when the slot's
// kernels are on the device: a kernel that is loaded at its first launch waits for a device that waits for its peers.
assay_status join(const assay_call* call, int (*preload)(), void** state);
assay_status part(void* state);

constexpr assay_variant peer_variant(const char* slot, const char* id, const char* capabilities) {
  assay_variant v{};
  v.size = sizeof v;
  v.flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC | ASSAY_SERIAL;
  v.device_type = kDLCUDA;
  v.slot = slot;
  v.id = id;
  v.capabilities = capabilities;
  v.destroy = part;
  return v;
}

// What every variant's capabilities hold.
#define PEER_SIZES R"("last_dim": {"max": 8192}, "world_size": {"min": 1, "max": 8})"
#define PEER_DOMAIN R"("dtype": ["bfloat16", "float16", "float32"], )" PEER_SIZES

extern const assay_variant peer_all_reduce, peer_ar_residual_rmsnorm, peer_moe_finalize_ar_rmsnorm;
extern const assay_variant peer_fused_experts_reduce, peer_fused_experts_reduce_m3, peer_fused_experts_reduce_nvfp4;

}  // namespace assay_cuda
