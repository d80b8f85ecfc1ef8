// harness/catalogue/resolve.hpp: which registered target a package is a candidate for.
//
// Promises: routing-and-targets.md 11.7. A package resolves to exactly one target or is refused with the rule and a
// sentence; the answer depends on what its rows say and never on their order. What a package uses is observed, not
// declared: a row key that nobody knows is a feature that no target allows.
// Who calls it: admission of packages; tests.
//
//   resolve(catalogue, package_from_json(parse_strict(text, "package.json"))).target->spec().id;
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/catalogue/target.hpp"

namespace assay {

class PackageRefused : public std::runtime_error {
 public:
  PackageRefused(std::string rule, const std::string& sentence)
      : std::runtime_error(rule + ": " + sentence), rule_(std::move(rule)) {}
  [[nodiscard]] const std::string& rule() const noexcept { return rule_; }  // "TR-1"; "stale"; "package": no such form

 private:
  std::string rule_;
};

struct PackageRow {
  std::string slot, variant;
  std::optional<std::string> prepare, artifact, patch;
  std::vector<std::string> sources;
  std::set<std::string> unknown_keys;
};

struct Package {
  std::optional<std::string> target, mode;
  std::optional<std::string> contract_digest;  // that its evidence was made under
  std::vector<PackageRow> rows;
  // What stands ready to use a row's parts, as the validator saw it: "builder", "provider", "applier".
  std::set<std::string> facilities;
};

// Throws PackageRefused("package", ...) where the text has another form.
[[nodiscard]] Package package_from_json(const nlohmann::json&);
[[nodiscard]] std::set<std::string> observed_features(const Package&);

struct Resolution {
  const Target* target = nullptr;
  std::vector<std::string> members;  // in the catalogue's order
};
// Throws PackageRefused.
[[nodiscard]] Resolution resolve(const Catalogue&, const Package&);

}  // namespace assay
