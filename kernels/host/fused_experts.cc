// moe.fused_experts on the host model: dense weights with SiLU, and MiniMax-M3's clamped SwiGLU from dense and from
// NVFP4 weights; in 16-bit runs the NVFP4 form narrows activations to four bits as well, as the fastest GPU kernels do.
#include "kernels/host/experts.hpp"
#include "kernels/host/variants.hpp"

namespace host_kernels {
namespace {

struct Grouped : Experts<Grouped> {};

struct M3Dense : Experts<M3Dense> {
  static constexpr const char* activation = "swigluoai";
  static float act(float gate, float up) { return swigluoai(gate, up); }
};

struct Nvfp4 : Nvfp4Experts<Nvfp4> {};

// Rounds a magnitude to E2M1; ties go to even, as hardware has it.
float round_e2m1(float m) {
  const float step = m < 2.0f ? 0.5f : m < 4.0f ? 1.0f : 2.0f;
  const float rounded = __builtin_rintf(m / step) * step;
  return rounded < 6.0f ? rounded : 6.0f;
}
// Rounds a non-negative scale to E4M3: three bits behind the leading one, steps of 2^-9 under 2^-6.
float round_e4m3(float s) {
  if (s >= 448.0f) return 448.0f;
  if (s < 0x1p-6f) return __builtin_rintf(s * 0x1p9f) * 0x1p-9f;
  const uint32_t bits = bits_of(s);
  return float_of((bits + 0x7ffffu + (bits >> 20 & 1u)) & 0xfff00000u);
}

struct Nvfp4Narrow : Nvfp4Experts<Nvfp4Narrow> {
  static void narrow(const Layer&, int64_t expert, const float* inverse, float* row, int64_t count) {
    for (int64_t first = 0; first < count; first += channel_group) {
      float* group = row + first;
      float most = 0;
      for (int64_t i = 0; i < channel_group; ++i) {
        const float m = __builtin_fabsf(group[i]);
        most = m > most ? m : most;
      }
      const float scale = round_e4m3(most * inverse[expert] / 6.0f) / inverse[expert];
      for (int64_t i = 0; i < channel_group; ++i) {
        const float m = scale > 0 ? round_e2m1(__builtin_fabsf(group[i]) / scale) * scale : 0.0f;
        group[i] = __builtin_copysignf(m, group[i]);
      }
    }
  }
};

template <class Kernel>
constexpr assay_variant describe(const char* id, const char* capabilities) {
  assay_variant variant{};
  variant.size = sizeof variant;
  variant.flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;
  variant.device_type = kDLCPU;
  variant.slot = "moe.fused_experts";
  variant.id = id;
  variant.capabilities = capabilities;
  variant.entry.fused_experts = Kernel::entry;
  variant.workspace = Kernel::workspace;
  variant.prepare = Kernel::prepare;
  variant.release = Kernel::release;
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
