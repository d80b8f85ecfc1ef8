#include "conformance/gate_facts.hpp"

#include <algorithm>

#include "conformance/installation.hpp"
#include "conformance/shard.hpp"
#include "conformance/targets/registered.hpp"
#include "harness/case/digest.hpp"
#include "harness/catalogue/canonical.hpp"
#include "harness/drive/call_descriptor.hpp"

namespace assay {
namespace {

using nlohmann::json;

const Target* target_of(const SlotSpec& slot) {
  try {
    return registered_catalogue().find(slot.id);
  } catch (const CatalogueError&) {
    return nullptr;
  }
}

std::string digest_of_rules(const std::vector<const RuleSpec*>& rules) {
  json list = json::array();
  for (const RuleSpec* rule : rules) {
    json drives = json::array();
    for (const Drive d : rule->drives) drives.push_back(name_of(d));
    list.push_back({{"id", rule->id}, {"sentence", rule->sentence}, {"how", rule->how}, {"drives", std::move(drives)}});
  }
  return envelope_digest("assay.rules", list, 1);
}

}  // namespace

std::string registered_contract(const SlotSpec& slot) {
  const Target* target = target_of(slot);
  return target ? target->contract_digest() : "";
}

GateRecord gate_facts(const Options& options, const std::vector<Unit>& units, const Waivers& waivers) {
  GateRecord gate;
  for (const Unit& unit : units) {
    const SlotSpec& slot = *unit.variant->slot;
    if (!gate.contracts.contains(slot.id)) {
      const Target* target = target_of(slot);
      gate.contracts[slot.id] = target ? target->contract_digest() : arguments_digest(slot);
      if (target) gate.targets[slot.id] = target->digest();
    }
    GateVariant variant{slot.id, unit.variant->info.id, std::string(name_of(unit.variant->device)),
                        unit.variant->domain.encode(), unit.variant->info.graph_safe()};
    if (std::ranges::find(gate.variants, variant) == gate.variants.end()) gate.variants.push_back(std::move(variant));
  }
  std::ranges::sort(gate.variants);
  const std::vector<const RuleSpec*> rules = selected_rules(options);
  gate.rules = digest_of_rules(rules);
  gate.rules_left_out = static_cast<std::int64_t>(rule_catalogue().size() - rules.size());
  gate.program = sha256_of_file(own_path());
  gate.worker = sha256_of_file(worker_config(options, DeviceType::host).worker);
  gate.references = sha256_of_file(reference_path());
  gate.compiler = ASSAY_COMPILER;
  for (const Waiver& w : waivers.all())
    gate.waivers.push_back({w.rule, w.slot, w.variant, std::string(name_of(w.reason)), w.owner, w.tracker, w.expires});
  std::ranges::sort(gate.waivers);
  if (!options.waivers.empty()) gate.waivers_sha256 = sha256_of_file(options.waivers);
  return gate;
}

}  // namespace assay
