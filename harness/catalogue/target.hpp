// harness/catalogue/target.hpp: the registered targets that evidence may be attributed to, and their identities.
//
// Promises: a Catalogue that exists keeps CI-1 to CI-14 of routing-and-targets.md 11.5; what breaks one is refused with
// its id and a sentence. Targets and rules come back by id, members by slot id, whatever order they were given in, and
// nothing that a caller holds can change them. Digests are those of 11.4: a target's covers all of its row, the
// catalogue's all targets, rules and the policy.
// Who calls it: conformance/targets (the registered catalogue), resolution, transitions, receipts.
//
//   const Catalogue catalogue(policy, targets, rules, slots);   // throws CatalogueError
//   catalogue.find("norm.rmsnorm")->digest();
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/catalogue/contract.hpp"

namespace assay {

class CatalogueError : public std::runtime_error {
 public:
  CatalogueError(std::string rule, const std::string& sentence)
      : std::runtime_error(rule + ": " + sentence), rule_(std::move(rule)) {}
  [[nodiscard]] const std::string& rule() const noexcept { return rule_; }  // "CI-5"

 private:
  std::string rule_;
};

enum class TargetKind : std::uint8_t { slot, atomic };
[[nodiscard]] std::string_view name_of(TargetKind) noexcept;

// The features that a package may be seen to use. `setup` is known so that a catalogue that allows it can be refused.
[[nodiscard]] const std::set<std::string>& known_features();

struct TargetSpec {
  std::string id;
  TargetKind kind = TargetKind::slot;
  std::set<std::string> members;  // slots
  std::set<std::string> displaces, compatible_with, needs, allowed_features;
  std::optional<TargetContractRef> contract;  // of a slot target
  std::string atomic_semantics_id;            // of an atomic one
};

// At one call site the first of `precedence` that selects a call takes it.
struct CompositionRule {
  std::string id;
  std::vector<std::string> precedence;  // a pair
  std::string mode = "first_applicable";
  std::string binding_family;
};

struct CataloguePolicy {
  int version = 1;
  std::map<std::string, std::string> toolchain;  // what candidates are built and loaded with
};

class Target {
 public:
  [[nodiscard]] const TargetSpec& spec() const noexcept { return spec_; }
  // Of a slot target its contract's, of an atomic one that of its semantics and its members' contracts.
  [[nodiscard]] const std::string& contract_digest() const noexcept { return contract_digest_; }
  [[nodiscard]] const std::string& digest() const noexcept { return digest_; }
  [[nodiscard]] nlohmann::json snapshot() const;

 private:
  friend class Catalogue;
  TargetSpec spec_;
  std::map<std::string, std::string> member_digests_;  // of an atomic target
  std::string contract_digest_, digest_;
};

class Catalogue {
 public:
  // `slots`: the ids that a program registers. Throws CatalogueError, and ContractError where a contract is not legal.
  Catalogue(CataloguePolicy, std::vector<TargetSpec>, std::vector<CompositionRule>, const std::set<std::string>& slots);

  [[nodiscard]] const std::vector<Target>& targets() const noexcept { return targets_; }       // by id
  [[nodiscard]] const std::vector<CompositionRule>& rules() const noexcept { return rules_; }  // by id
  [[nodiscard]] const Target* find(std::string_view id) const;                                 // NULL if there is none
  // What installing the target takes out, transitively.
  [[nodiscard]] std::set<std::string> displaced_by(std::string_view id) const;
  [[nodiscard]] nlohmann::json snapshot() const;
  [[nodiscard]] const std::string& digest() const noexcept { return digest_; }

 private:
  void check_targets(const std::set<std::string>& slots) const;
  void check_relations() const;
  void check_rules() const;

  CataloguePolicy policy_;
  std::vector<Target> targets_;
  std::vector<CompositionRule> rules_;
  std::string digest_;
};

}  // namespace assay
