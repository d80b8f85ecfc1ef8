// moe.fused_experts_reduce: moe.fused_experts of each rank's own weights, summed over the ranks, on every rank
// (spec/slots.md 5.8, 6, 7).
#include "reference/fused_experts_reduce.hpp"

#include "assay/slot.hpp"
#include "conformance/slots/expert_slot.hpp"

namespace assay {
namespace {

using moe::sizes;
using moe::under;

std::vector<PinSpec> pins() {
  std::vector<PinSpec> list = {
      {sizes(4, 8, 64, 32, 2)},
      {sizes(1, 8, 64, 32, 2)},
      {sizes(24, 8, 32, 16, 1), Tier::quick, under("generic", "holes")},
      {sizes(22, 8, 32, 16, 1), Tier::quick, under("generic", "skew_one"), "expert_scales"},
      {sizes(4, 4, 64, 64, 2), Tier::quick, under("m3_dense"), "activation"},
      {sizes(6, 3, 64, 64, 2), Tier::quick, under("m3_nvfp4"), "activation"},
      {sizes(6, 4, 64, 64, 3), Tier::quick, under("m3_nvfp4", "random", "yes")},
      {sizes(4, 8, 256, 128, 2), Tier::full},
      {sizes(1, 8, 256, 128, 2), Tier::full},
      {sizes(8, 4, 384, 192, 1), Tier::full},
      {sizes(16, 32, 512, 256, 4), Tier::full},
      {sizes(64, 8, 512, 256, 2), Tier::full},
      {sizes(4, 8, 256, 128, 2), Tier::full, under("m3_nvfp4"), "activation"},
      {sizes(33, 16, 320, 160, 4), Tier::full, under("m3_nvfp4")},
      {sizes(33, 16, 320, 160, 4), Tier::full, under("m3_dense"), "activation"},
  };
  // One layer of the model; 1 GB of weights a rank.
  list.push_back({sizes(8, 129, 6144, 768, 5), Tier::gate, under("m3_nvfp4", "random", "yes"), "activation"});
  return list;
}

SlotParts parts() {
  SlotParts p = moe::expert_slot(moe::Holder::every_rank);
  p.id = "moe.fused_experts_reduce";
  p.kind = Kind::collective;
  p.summary = "moe.fused_experts of each rank's own weights, summed over the group's ranks, on every rank";
  p.reference = reference::fused_experts_reduce;
  p.descriptor = [](const Case& c, DescriptorFacts& d) {
    moe::describe_experts(c, d);
    d.words["layout"] = "row_major";
    d.numbers["ep_size"] = 1;
  };
  p.pins = pins();
  return p;
}

}  // namespace

static const SlotRow fused_experts_reduce = slot<&assay_entry::fused_experts_reduce>(moe::arguments(), parts());

}  // namespace assay
