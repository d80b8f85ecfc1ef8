// hostile.cuh: what the hostile libraries on CUDA share: a kernel that leaves SiLU out, and the table of two variants.
//
// Promises: HOSTILE_LIBRARY(entry, kernels...) is a library of `hostile` of activation.silu_and_mul, the attacker's, and
// of `bystander` of norm.rmsnorm, right. What is wrong is wrong in plain_kernel alone.
// Who uses it: the files beside it.
#pragma once

#include "kernels/faulty/cuda/faulty.cuh"

namespace hostile {

__global__ void plain_kernel(faulty::Silu a) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < a.out.columns; c += blockDim.x)
      a.out.set(row, c, a.x.cell(row, c) * a.x.cell(row, c + a.out.columns));
  }
}

inline assay_status run_plain(const assay_call* call, const faulty::Silu& a) {
  if (a.out.rows > 0) plain_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

inline assay_status bystander(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  return faulty::run_rmsnorm(call, faulty::rmsnorm_args(x, weight, out, eps));
}

inline assay_status load_bystander(const assay_call* call, void** state) {
  return faulty::preload(call, state, faulty::rmsnorm_kernel);
}

constexpr assay_variant named(assay_variant variant, const char* id) {
  variant.id = id;
  return variant;
}

}  // namespace hostile

#define HOSTILE_LIBRARY(function, ...)                                                                                 \
  static assay_status load_hostile(const assay_call* call, void** state) {                                             \
    return faulty::preload(call, state, __VA_ARGS__);                                                                  \
  }                                                                                                                    \
  const assay_library* assay_get_library(uint32_t harness_abi_version) {                                               \
    constexpr std::uint32_t flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;                                            \
    static const assay_variant attacker = hostile::named(                                                              \
        faulty::variant_of("activation.silu_and_mul", flags, {.silu_and_mul = function}, load_hostile), "hostile");    \
    static const assay_variant right = hostile::named(                                                                 \
        faulty::variant_of("norm.rmsnorm", flags, {.rmsnorm = hostile::bystander}, hostile::load_bystander),           \
        "bystander");                                                                                                  \
    static const assay_variant* const variants[] = {&attacker, &right};                                                \
    static const assay_library library = {sizeof library, ASSAY_ABI_VERSION, "hostile", "1.0", variants, 2};           \
    return harness_abi_version == ASSAY_ABI_VERSION ? &library : nullptr;                                              \
  }
