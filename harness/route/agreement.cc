#include "harness/route/agreement.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/catalogue/canonical.hpp"

namespace assay {
namespace {

// What a captured call is recognised by: the same slot, call, variant and members.
std::string key_of(const DecisionRecord& r) {
  std::string key = r.slot + " " + r.descriptor_digest + " " + r.variant;
  for (const int rank : r.group) key += " " + std::to_string(rank);
  return key;
}

}  // namespace

std::string DecisionRecord::digest() const {
  const nlohmann::json payload = {{"slot", slot},
                                  {"contract_digest", contract_digest},
                                  {"outcome", std::string(name_of(outcome))},
                                  {"variant", variant},
                                  {"artifact_digest", artifact_digest},
                                  {"descriptor_digest", descriptor_digest},
                                  {"graph_mode", graph_mode},
                                  {"group", group},
                                  {"ordinal", ordinal}};
  return envelope_digest("assay.decision-record", payload, 1);
}

DecisionRecord record_of(const std::string& slot, const RouteDecision& decision) {
  DecisionRecord r;
  r.slot = slot;
  r.outcome = decision.outcome;
  r.variant = decision.variant;
  if (decision.descriptor) {
    r.descriptor_digest = decision.descriptor->digest();
    r.graph_mode = text_of(*decision.descriptor->find("graph_mode"));
  }
  return r;
}

std::string_view name_of(Served s) noexcept {
  return s == Served::candidate ? "candidate" : s == Served::stock ? "stock" : "aborted";
}

Agreement agree(std::span<const std::optional<DecisionRecord>> ranks) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r]) {
      return {Served::aborted, RouteOutcome::rank_divergence, AttemptEffect::infrastructure,
              "rank " + std::to_string(r) + " did not answer the agreement round"};
    }
  }
  if (ranks.empty())
    return {Served::stock, RouteOutcome::rank_divergence, AttemptEffect::validator, "there is no rank"};
  const std::string first = ranks[0]->digest();
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    if (ranks[r]->digest() == first) continue;
    return {Served::stock, RouteOutcome::rank_divergence, AttemptEffect::validator,
            "ranks 0 and " + std::to_string(r) + " decide differently: " + std::string(name_of(ranks[0]->outcome)) +
                (ranks[0]->variant.empty() ? "" : " " + ranks[0]->variant) + " and " +
                std::string(name_of(ranks[r]->outcome)) + (ranks[r]->variant.empty() ? "" : " " + ranks[r]->variant)};
  }
  const bool selected = ranks[0]->outcome == RouteOutcome::selected;
  return {selected ? Served::candidate : Served::stock, ranks[0]->outcome, effect_of(ranks[0]->outcome), ""};
}

void AgreementTable::completed(const DecisionRecord& record, const Agreement& agreement) {
  if (agreement.by == Served::candidate) agreed_.insert(key_of(record));
}

bool AgreementTable::may_select_in_capture(const DecisionRecord& record) const {
  return record.outcome == RouteOutcome::selected && agreed_.count(key_of(record)) != 0;
}

}  // namespace assay
