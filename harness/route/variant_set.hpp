// harness/route/variant_set.hpp: the variants of one slot that a call may be routed to, and whether two of them
// overlap.
//
// Promises: routing-and-targets.md 4. A domain is a product of one set a field, so two domains overlap if and only if
// no field's intersection is empty: the decision is exact, linear in the predicates of a pair, and a witness comes with
// every overlap. A set holds no two variants that are known to overlap, and their order decides nothing.
// Does not: choose; decide() in selection.hpp does.
// Who calls it: the loader of a library (overlaps), the router (accepting).
//
//   VariantSet set("attention.sdpa");
//   set.add("h64", domain_64);
//   set.add("h128", domain_128);            // throws RegistrationError where a call exists that both accept
//   set.accepting(descriptor);              // ids, at most one
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/capability/domain.hpp"

namespace assay {

// The smallest value that each constrained field of both domains admits; fields that may be absent are left out.
// nullopt: the domains are disjoint.
[[nodiscard]] std::optional<Facts> witness(const Domain&, const Domain&);
[[nodiscard]] bool disjoint(const Domain&, const Domain&);

// The facts as a whole call: the mandatory facts (DR-9) that they leave open are filled in.
[[nodiscard]] Descriptor call_with(const Facts&);

// Whether disjointness can be decided: not of a domain with predicates outside the vocabulary, nor of a library that is
// watched although it was refused. Then run-time ambiguity is the last guard (4.3).
enum class Proof : std::uint8_t { exact, not_provable };

struct NamedDomain {
  std::string id;
  Domain domain;
  Proof proof = Proof::exact;
};

struct Overlap {
  std::string first, second;               // ids, in the order of their rows
  Facts call;                              // witness()
  [[nodiscard]] std::string text() const;  // "a and b both accept head_dim=64, num_tokens=1"
};

// Every pair that is known to overlap.
[[nodiscard]] std::vector<Overlap> overlaps(const std::vector<NamedDomain>&);

class RegistrationError : public std::runtime_error {
 public:
  RegistrationError(std::string rule, const std::string& sentence)
      : std::runtime_error(rule + ": " + sentence), rule_(std::move(rule)) {}
  [[nodiscard]] const std::string& rule() const noexcept { return rule_; }  // "VR-3"

 private:
  std::string rule_;
};

class VariantSet {
 public:
  explicit VariantSet(std::string slot) : slot_(std::move(slot)) {}

  // VR-1: an id of letters, digits, '.', '_' and '-', no other variant's. VR-2: some call is left. VR-3: disjoint from
  // all before it, where that can be proven. Throws RegistrationError; the set is as it was.
  void add(std::string id, Domain domain, Proof = Proof::exact);

  [[nodiscard]] const std::string& slot() const noexcept { return slot_; }
  [[nodiscard]] const std::vector<NamedDomain>& variants() const noexcept { return variants_; }
  // Ids of all that accept the call, ascending.
  [[nodiscard]] std::vector<std::string> accepting(const Descriptor&) const;

 private:
  std::string slot_;
  std::vector<NamedDomain> variants_;
};

}  // namespace assay
