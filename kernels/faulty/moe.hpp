// moe.hpp: the right kernels of moe.fused_experts in a form in which one property can be broken in a few lines.
//
// Promises: with nothing overridden FAULTY_MOE makes a library that is as right as kernels/host, declared GRAPH_SAFE
// and DETERMINISTIC: Moe from dense weights with SiLU, M3Moe from dense weights with clamped SwiGLU, Nvfp4Moe from
// NVFP4 weights. The members are those of kernels/host/experts.hpp.
// Who uses it: kernels/faulty/moe_*.cc. Each overrides the member that its fault breaks, by name, through Self.
//
//   struct Fault : faulty::Moe<Fault> {
//     static float share(const faulty::ExpertsArguments&, int64_t, int64_t) { return 1.0f; }  // weights ignored
//   };
//   FAULTY_MOE(Fault)
#pragma once

#include "kernels/faulty/faulty.hpp"
#include "kernels/host/experts.hpp"

namespace faulty {

using host_kernels::ExpertsArguments;
using host_kernels::Layer;
using host_kernels::Tile;

constexpr int64_t most_experts = 4096;  // of faults that keep a table of them

template <class Self>
struct Moe : host_kernels::Experts<Self> {
  using Right = Moe;
  static constexpr uint32_t flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;
  static constexpr const char* capabilities = nullptr;
};

template <class Self>
struct M3Moe : host_kernels::M3Experts<Self> {
  using Right = M3Moe;
  static constexpr uint32_t flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;
  static constexpr const char* capabilities = R"({"model": "MiniMax-M3", "quant": "dense"})";
};

template <class Self>
struct Nvfp4Moe : host_kernels::Nvfp4Experts<Self> {
  using Right = Nvfp4Moe;
  static constexpr uint32_t flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;
  static constexpr const char* capabilities = R"({"model": "MiniMax-M3", "quant": "nvfp4"})";
};

template <class Fault>
constexpr assay_variant moe_variant() {
  assay_variant variant = host_kernels::with_weights<Fault>(variant_of("moe.fused_experts", Fault::flags));
  variant.capabilities = Fault::capabilities;
  variant.entry.fused_experts = Fault::entry;
  return variant;
}

}  // namespace faulty

#define FAULTY_MOE(fault) FAULTY_LIBRARY(faulty::moe_variant<fault>())
