// expert_slot.hpp: what moe.fused_experts and moe.fused_experts_reduce have in common: dims, knobs, weights, relations
// (spec/slots.md 5.7, 5.8, 6, 7).
//
// Promises: the two slots differ in their kind, pins, reference and descriptor's layout, and in whose the weights are:
// of a collective every rank has its own.
// Who uses it: the slot files of the expert slots.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "assay/slot.hpp"

namespace assay::moe {

enum class Holder : std::uint8_t { one, every_rank };

[[nodiscard]] Arguments<'i', 'i', 'i', 'p', 'o'> arguments();
// Everything but id, kind, summary, reference, descriptor and pins.
[[nodiscard]] SlotParts expert_slot(Holder);
void describe_experts(const Case&, DescriptorFacts&);  // all but the layout

[[nodiscard]] std::map<std::string, std::int64_t> sizes(std::int64_t tokens, std::int64_t experts, std::int64_t hidden,
                                                        std::int64_t inter, std::int64_t top_k);
[[nodiscard]] std::map<std::string, std::string> under(const char* profile, const char* routing = "random",
                                                       const char* shared = "no");

}  // namespace assay::moe
