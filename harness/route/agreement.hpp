// harness/route/agreement.hpp: the ranks of a group select together or not at all.
//
// Promises: routing-and-targets.md 6.1. Each rank's decision is a record of facts that the validator owns; ranks
// compare the SHA-256 of its canonical encoding, exchanged by the judge over its workers' control channels, never over
// the candidate's group. The selection point is reached where all digests are equal and the outcome is `selected`; a
// difference is stock on every rank; a rank that does not answer aborts all.
// Who calls it: the `routed` drive and drives that make one rank ineligible.
//
//   const Agreement a = agree({rank0.digest(), rank1.digest()}, rank0.outcome);
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/route/selection.hpp"

namespace assay {

struct DecisionRecord {
  std::string slot, contract_digest;  // empty: not known
  RouteOutcome outcome = RouteOutcome::registry_inactive;
  std::string variant, artifact_digest, descriptor_digest, graph_mode;
  std::vector<int> group;     // global ranks in the group's order: equal size is not identity (AG-6)
  std::uint64_t ordinal = 0;  // of the call within its group

  [[nodiscard]] std::string digest() const;  // of domain assay.decision-record
};

[[nodiscard]] DecisionRecord record_of(const std::string& slot, const RouteDecision&);

enum class Served : std::uint8_t { candidate, stock, aborted };
[[nodiscard]] std::string_view name_of(Served) noexcept;

struct Agreement {
  Served by = Served::stock;  // on every rank
  RouteOutcome outcome = RouteOutcome::selected;
  AttemptEffect effect = AttemptEffect::none;
  std::string why;
};

// One record a rank, in rank order; nullopt: no answer within the deadline.
[[nodiscard]] Agreement agree(std::span<const std::optional<DecisionRecord>>);

// AG-5: while a stream is captured no round can be held. Only what an earlier round agreed on may select then, so that
// a binding agrees on the captured descriptor before it captures; since only completed rounds change the table, it is
// the same on all ranks.
class AgreementTable {
 public:
  void completed(const DecisionRecord&, const Agreement&);
  [[nodiscard]] bool may_select_in_capture(const DecisionRecord&) const;

 private:
  std::set<std::string> agreed_;
};

}  // namespace assay
