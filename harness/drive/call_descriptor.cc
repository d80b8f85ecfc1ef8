#include "harness/drive/call_descriptor.hpp"

#include <nlohmann/json.hpp>

#include "harness/catalogue/canonical.hpp"
#include "harness/route/live_facts.hpp"

namespace assay {

std::string arguments_digest(const SlotSpec& slot) {
  nlohmann::json arguments = nlohmann::json::array();
  for (const ArgumentSpec& a : slot.arguments)
    arguments.push_back({{"name", a.name}, {"kind", std::string(1, a.kind)}, {"dynamic", a.dynamic}});
  return envelope_digest("assay.slot-arguments",
                         {{"slot", slot.id}, {"signature", slot.signature}, {"arguments", std::move(arguments)}}, 1);
}

Descriptor descriptor_of(const SlotSpec& slot, const Case& c, const std::string& architecture, bool captured) {
  return describe(offline_facts(slot, c), name_of(c.dtype), architecture, captured);
}

}  // namespace assay
