// moe.fused_experts on the host model: dense weights with SiLU, and MiniMax-M3's clamped SwiGLU from dense and from
// NVFP4 weights; in 16-bit runs the NVFP4 form narrows activations to four bits as well, as the fastest GPU kernels do.
#include "kernels/host/experts.hpp"
#include "kernels/host/variants.hpp"

namespace host_kernels {
namespace {

struct Grouped : Experts<Grouped> {};

struct M3Dense : M3Experts<M3Dense> {};

struct Nvfp4 : Nvfp4Experts<Nvfp4> {};

struct Nvfp4Narrow : NarrowNvfp4Experts<Nvfp4Narrow> {};

template <class Kernel>
constexpr assay_variant describe(const char* id, const char* capabilities) {
  assay_variant variant = with_weights<Kernel>(right_variant("moe.fused_experts", id, capabilities));
  variant.entry.fused_experts = Kernel::entry;
  return variant;
}

}  // namespace

constinit const assay_variant fused_experts = describe<Grouped>("host.grouped", nullptr);
constinit const assay_variant fused_experts_m3 =
    describe<M3Dense>("host.m3_dense", R"({"model": "MiniMax-M3", "quant": "dense"})");
constinit const assay_variant fused_experts_nvfp4 =
    describe<Nvfp4>("host.nvfp4", R"({"model": "MiniMax-M3", "quant": "nvfp4", "dtype": "float32"})");
constinit const assay_variant fused_experts_nvfp4_narrow = describe<Nvfp4Narrow>(
    "host.nvfp4_narrow", R"({"model": "MiniMax-M3", "quant": "nvfp4", "dtype": ["float16", "bfloat16"]})");

}  // namespace host_kernels
