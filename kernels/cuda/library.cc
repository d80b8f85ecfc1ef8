// libassay_cuda_kernels.so: right kernels for both op slots on CUDA, in plain CUDA C++.
#include <cstdio>

#include "assay/abi.h"
#include "entries.hpp"

namespace {

assay_status loaded(const assay_call* call, void** state, int error) {
  *state = nullptr;
  if (error == 0) return ASSAY_OK;
  if (call->error != nullptr && call->error_bytes != 0)
    std::snprintf(call->error, call->error_bytes, "loading kernels: cudaError_t %d", error);
  return ASSAY_ERROR;
}

assay_status init_silu_and_mul(const assay_call* call, void** state) {
  return loaded(call, state, assay_cuda::preload_silu_and_mul());
}

assay_status init_rmsnorm(const assay_call* call, void** state) {
  return loaded(call, state, assay_cuda::preload_rmsnorm());
}

constexpr assay_variant variant_of(const char* slot, assay_entry entry, decltype(assay_variant::init) init) {
  assay_variant v{};
  v.size = sizeof v;
  v.flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;
  v.device_type = kDLCUDA;
  v.slot = slot;
  v.id = "cuda";
  v.entry = entry;
  v.init = init;
  return v;
}

constexpr assay_variant silu_and_mul =
    variant_of("activation.silu_and_mul", {.silu_and_mul = assay_cuda::silu_and_mul}, init_silu_and_mul);
constexpr assay_variant rmsnorm = variant_of("norm.rmsnorm", {.rmsnorm = assay_cuda::rmsnorm}, init_rmsnorm);

constexpr const assay_variant* variants[] = {&silu_and_mul, &rmsnorm};
constexpr assay_library library = {sizeof(assay_library), ASSAY_ABI_VERSION, "assay_cuda_kernels", "1.0", variants, 2};

}  // namespace

const assay_library* assay_get_library(uint32_t harness_abi_version) {
  return harness_abi_version == ASSAY_ABI_VERSION ? &library : nullptr;
}
