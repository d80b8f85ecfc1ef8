// registered_parts_test.hpp: what contract.complete asks of a registered slot, collected from the tree.
//
// Who uses it: tests of this folder.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "assay/rule.hpp"
#include "conformance/targets/contract_rules.hpp"

namespace assay::parts {

inline std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Rows of kernels/faulty/faults.tsv, by slot: stem, and the rule that catches it.
inline std::map<std::string, std::map<std::string, std::string>> planted_faults() {
  std::map<std::string, std::map<std::string, std::string>> by_slot;
  std::istringstream table(contents(ASSAY_ROOT "/kernels/faulty/faults.tsv"));
  std::string line;
  std::getline(table, line);  // stem, device, slot, rule, ...
  while (std::getline(table, line)) {
    std::istringstream row(line);
    std::vector<std::string> cells(4);
    for (std::string& cell : cells) std::getline(row, cell, '\t');
    by_slot[cells[2]].emplace(cells[0], cells[3]);
  }
  return by_slot;
}

// A test of the references that includes this one's header and has a naive form.
inline bool has_second_form(const SlotSpec& slot) {
  const std::string header =
      "\"reference/" + std::string(slot.reference.symbol).substr(sizeof "assay_reference_" - 1) + ".hpp\"";
  for (const char* test : {"all_reduce", "attention", "collective", "fused_experts", "msa", "naive"})
    if (contents(std::string(ASSAY_ROOT "/reference/") + test + "_test.cc").find(header) != std::string::npos)
      return true;
  return false;
}

inline RegisteredParts of(const SlotSpec& slot) {
  static const auto faults = planted_faults();
  static const std::string documents = contents(ASSAY_ROOT "/README.md");
  RegisteredParts p;
  p.spec = &slot;
  p.names = names_of(slot.id);
  p.supply = supply_of(slot.id);
  for (const AvailabilityRow& r : availability())
    if (r.target == slot.id) p.availability.push_back(r);
  for (const RuleSpec* r : rule_catalogue())
    if (applies(*r, slot, DeviceType::host)) p.rules.insert(r->id);
  if (const auto planted = faults.find(slot.id); planted != faults.end()) p.must_reject = planted->second;
  p.documents = documents;
  p.second_form = has_second_form(slot);
  return p;
}

}  // namespace assay::parts
