// moe.fused_experts_reduce on the host model: the forms of fused_experts.cc, summed by the group's own collective.
#include "kernels/host/experts_reduce.hpp"
#include "kernels/host/variants.hpp"

namespace host_kernels {
namespace {

struct Grouped : ReducedExperts<Grouped, Experts> {};
struct M3Dense : ReducedExperts<M3Dense, M3Experts> {};
struct Nvfp4 : ReducedExperts<Nvfp4, Nvfp4Experts> {};
struct Nvfp4Narrow : ReducedExperts<Nvfp4Narrow, NarrowNvfp4Experts> {};

template <class Kernel>
constexpr assay_variant describe(const char* id, const char* capabilities) {
  assay_variant variant = with_weights<Kernel>(right_variant("moe.fused_experts_reduce", id, capabilities));
  variant.entry.fused_experts_reduce = Kernel::entry;
  return variant;
}

}  // namespace

constinit const assay_variant fused_experts_reduce = describe<Grouped>("host.grouped", nullptr);
constinit const assay_variant fused_experts_reduce_m3 =
    describe<M3Dense>("host.m3_dense", R"({"model": "MiniMax-M3", "quant": "dense"})");
constinit const assay_variant fused_experts_reduce_nvfp4 =
    describe<Nvfp4>("host.nvfp4", R"({"model": "MiniMax-M3", "quant": "nvfp4", "dtype": "float32"})");
constinit const assay_variant fused_experts_reduce_nvfp4_narrow = describe<Nvfp4Narrow>(
    "host.nvfp4_narrow", R"({"model": "MiniMax-M3", "quant": "nvfp4", "dtype": ["float16", "bfloat16"]})");

}  // namespace host_kernels
