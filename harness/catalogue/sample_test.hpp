// sample_test.hpp: small catalogues for tests, legal until a test breaks them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/catalogue/target.hpp"

namespace assay::sample {

inline TargetContractRef contract(const std::string& slot, const std::string& family = "f") {
  TargetContractRef c;
  c.slot_id = slot;
  c.kind = "op";
  c.entry = "run";
  c.graph_dynamic_inputs = {"x", "y"};
  c.input_abi_id = slot + ".input.v1";
  c.output_abi_id = slot + ".output.v1";
  c.reference_id = slot + ".reference.v1";
  c.verification_profile_id = slot + ".verify.v1";
  c.binding_family_id = family;
  c.correctness.mode = "matched_ratio";
  c.correctness.min_ratio = "0.99";
  c.tolerances = {{"bfloat16", "0.02", "0.02"}, {"float32", "0.00001", "0.00001"}};
  c.input_abi_digest = std::string(64, '1');
  c.output_abi_digest = std::string(64, '2');
  c.reference_digest = std::string(64, '3');
  c.profile_digest = std::string(64, '4');
  return c;
}

inline TargetSpec slot(const std::string& id, const std::string& family = "f") {
  TargetSpec t;
  t.id = id;
  t.members = {id};
  t.allowed_features = {"entry", "variants"};
  t.contract = contract(id, family);
  return t;
}

inline TargetSpec atomic(const std::string& id, std::set<std::string> members) {
  TargetSpec t;
  t.id = id;
  t.kind = TargetKind::atomic;
  t.displaces = members;
  t.members = std::move(members);
  t.allowed_features = {"entry"};
  t.atomic_semantics_id = id + ".semantics.v1";
  return t;
}

inline CompositionRule rule(const std::string& first, const std::string& second, const std::string& family = "f") {
  return {.id = first + "-then-" + second, .precedence = {first, second}, .binding_family = family};
}

// a, b, c, d; ab atomic over a and b; c before d at one call site; d requires c.
struct Parts {
  CataloguePolicy policy{1, {{"abi", "1"}}};
  std::vector<TargetSpec> targets;
  std::vector<CompositionRule> rules;
  std::set<std::string> slots = {"a", "b", "c", "d"};

  Parts() {
    for (const std::string& s : slots) targets.push_back(slot(s));
    targets.push_back(atomic("ab", {"a", "b"}));
    rules = {rule("c", "d")};
    at("c").compatible_with = {"d"};
    at("d").compatible_with = {"c"};
    at("d").needs = {"c"};
  }
  TargetSpec& at(const std::string& id) {
    for (TargetSpec& t : targets)
      if (t.id == id) return t;
    throw std::out_of_range(id);
  }
  [[nodiscard]] Catalogue make() const { return {policy, targets, rules, slots}; }
};

}  // namespace assay::sample
