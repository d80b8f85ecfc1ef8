// moe.fused_experts: out[m] = sum over k of topk_weights[m,k] * w2[e] . act(w13[e] . x[m]), e = topk_ids[m,k]
// (spec/slots.md 5.7, 6, 7).
#include "reference/fused_experts.hpp"

#include "assay/slot.hpp"
#include "conformance/slots/expert_slot.hpp"

namespace assay {
namespace {

using moe::sizes;
using moe::under;

std::vector<PinSpec> pins() {
  std::vector<PinSpec> list = {
      {sizes(4, 8, 256, 128, 2)},
      {sizes(1, 8, 256, 128, 2), Tier::full},
      {sizes(8, 4, 384, 192, 1), Tier::full},
      // Counts at the blocks of 256 that a routing kernel works by, few experts and more than 128 (FAULT-016).
      {sizes(255, 8, 16, 8, 2), Tier::quick, under("generic", "skew_one")},
      {sizes(257, 8, 8, 8, 1), Tier::quick, {}, "expert_tags"},
      {sizes(513, 160, 16, 8, 2)},
      // Experts without tokens first, last and side by side; all tokens on one (FAULT-017).
      {sizes(24, 8, 32, 16, 1), Tier::quick, under("generic", "holes")},
      {sizes(22, 8, 32, 16, 1), Tier::quick, under("generic", "skew_one"), "expert_scales"},
      {sizes(4, 8, 256, 128, 2), Tier::quick, under("m3_dense"), "activation"},
      {sizes(4, 8, 256, 128, 2), Tier::full, under("m3_nvfp4")},
      {sizes(4, 8, 256, 128, 2), Tier::quick, under("m3_nvfp4"), "activation"},
      {sizes(8, 4, 384, 192, 1), Tier::full, under("m3_nvfp4"), "activation"},
      {sizes(6, 9, 128, 64, 5), Tier::quick, under("m3_nvfp4", "random", "yes"), "activation"},
      {sizes(65, 2, 64, 64, 1), Tier::quick, under("m3_nvfp4")},  // one row is less than the cosine sees
      // 160 rows of scales where 256 are stored, one token an expert (FAULT-018).
      {sizes(3, 3, 176, 80, 1), Tier::quick, under("m3_nvfp4", "spread"), "expert_scales"},
      {sizes(256, 8, 16, 8, 2), Tier::full, {}, "tag"},
      {sizes(512, 160, 16, 8, 1), Tier::full, under("generic", "skew_one")},
      {sizes(256, 8, 256, 128, 2), Tier::full},
      {sizes(256, 8, 256, 128, 2), Tier::full, under("generic", "skew_one")},
  };
  for (const auto& compact : {sizes(16, 32, 512, 256, 4), sizes(33, 16, 320, 160, 4)}) {
    list.push_back({compact, Tier::full});
    for (const char* profile : {"m3_dense", "m3_nvfp4"})
      for (const char* recipe : {"normal", "activation"}) list.push_back({compact, Tier::full, under(profile), recipe});
  }
  // One layer of the model on one of four ranks; 1 GB of weights.
  for (const std::int64_t tokens : {1, 8, 32})
    list.push_back({sizes(tokens, 129, 6144, 768, 5), Tier::gate, under("m3_nvfp4", "random", "yes"), "activation"});
  list.push_back({sizes(32, 129, 6144, 768, 5), Tier::gate, under("m3_nvfp4", "random", "yes")});
  return list;
}

SlotParts parts() {
  SlotParts p = moe::expert_slot(moe::Holder::one);
  p.id = "moe.fused_experts";
  p.kind = Kind::block;
  p.summary = "routed experts: out (M,H) = sum over k of weight * w2[e] . act(w13[e] . x), dense or NVFP4";
  p.reference = reference::fused_experts;
  p.descriptor = [](const Case& c, DescriptorFacts& d) {
    moe::describe_experts(c, d);
    d.words["layout"] = "routed_moe";
  };
  p.pins = pins();
  return p;
}

}  // namespace

static const SlotRow fused_experts = slot<&assay_entry::fused_experts>(moe::arguments(), parts());

}  // namespace assay
