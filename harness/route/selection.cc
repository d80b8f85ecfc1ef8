#include "harness/route/selection.hpp"

#include <algorithm>
#include <stdexcept>

namespace assay {
namespace {

RouteDecision stock(RouteOutcome outcome, std::string why) {
  RouteDecision d;
  d.outcome = outcome;
  d.why = std::move(why);
  return d;
}

std::string listed(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ", ") + id;
  return text;
}

}  // namespace

std::string_view name_of(RouteOutcome o) noexcept {
  switch (o) {
    case RouteOutcome::selected:
      return "selected";
    case RouteOutcome::registry_inactive:
      return "registry_inactive";
    case RouteOutcome::slot_unregistered:
      return "slot_unregistered";
    case RouteOutcome::out_of_domain:
      return "out_of_domain";
    case RouteOutcome::ambiguous:
      return "ambiguous";
    case RouteOutcome::excluded_phase:
      return "excluded_phase";
    case RouteOutcome::structural_mismatch:
      return "structural_mismatch";
    case RouteOutcome::prerequisite_missing:
      return "prerequisite_missing";
    case RouteOutcome::rank_divergence:
      return "rank_divergence";
  }
  return "unknown";
}

std::string_view name_of(AttemptEffect e) noexcept {
  switch (e) {
    case AttemptEffect::none:
      return "none";
    case AttemptEffect::validator:
      return "NO_DECISION/validator";
    case AttemptEffect::infrastructure:
      return "NO_DECISION/infrastructure";
    case AttemptEffect::candidate:
      return "FAIL/candidate";
  }
  return "unknown";
}

std::string_view name_of(ExcludedPhase p) noexcept {
  switch (p) {
    case ExcludedPhase::none:
      return "none";
    case ExcludedPhase::tuning:
      return "tuning";
    case ExcludedPhase::tracing:
      return "tracing";
    case ExcludedPhase::memory_profiling:
      return "memory_profiling";
    case ExcludedPhase::graph_memory_profiling:
      return "graph_memory_profiling";
    case ExcludedPhase::model_load:
      return "model_load";
  }
  return "unknown";
}

// Registration should have caught an ambiguity, and ranks compare what the validator itself established.
AttemptEffect effect_of(RouteOutcome o) noexcept {
  return o == RouteOutcome::ambiguous || o == RouteOutcome::rank_divergence ? AttemptEffect::validator
                                                                            : AttemptEffect::none;
}

RouteDecision decide(const Registry& registry, const CallSite& site) {
  if (!registry.active) return stock(RouteOutcome::registry_inactive, "the registry is not active");
  if (!site.armed) return stock(RouteOutcome::registry_inactive, "the arena has not armed the binding");
  if (site.phase != ExcludedPhase::none) {
    return stock(RouteOutcome::excluded_phase, "the runtime is in its phase " + std::string(name_of(site.phase)));
  }
  if (!registry.variants || registry.variants->variants().empty()) {
    return stock(RouteOutcome::slot_unregistered, "no variant is registered for the slot");
  }
  if (site.structural) {
    if (Objection why = site.structural()) return stock(RouteOutcome::structural_mismatch, std::move(*why));
  }
  if (!site.describe) throw std::logic_error("a call site without a descriptor");
  RouteDecision d;
  d.descriptor = site.describe();
  for (const NamedDomain& v : registry.variants->variants()) {
    Match m = match(v.domain, *d.descriptor);
    if (m.accepted()) {
      d.accepting.push_back(v.id);
    } else {
      d.refused.push_back({v.id, std::move(m.mismatches)});
    }
  }
  std::sort(d.accepting.begin(), d.accepting.end());
  std::sort(d.refused.begin(), d.refused.end(),
            [](const Refused& a, const Refused& b) { return a.variant < b.variant; });
  if (d.accepting.size() > 1) {
    d.outcome = RouteOutcome::ambiguous;
    d.why = "the variants " + listed(d.accepting) + " all accept the call";
    return d;
  }
  if (d.accepting.empty()) {
    d.outcome = RouteOutcome::out_of_domain;
    for (const Refused& r : d.refused) {
      for (const Mismatch& m : r.mismatches) d.why += (d.why.empty() ? "" : "; ") + r.variant + ": " + m.text();
    }
    return d;
  }
  d.refused.clear();
  if (site.prerequisite) {
    if (Objection why = site.prerequisite(d.accepting.front(), *d.descriptor)) {
      d.outcome = RouteOutcome::prerequisite_missing;
      d.why = std::move(*why);
      return d;
    }
  }
  d.outcome = RouteOutcome::selected;
  d.variant = d.accepting.front();
  return d;
}

RouteDecision decide_batch(const Registry& registry, std::span<const CallSite> requests) {
  if (requests.empty()) throw std::logic_error("a batch without requests");
  std::optional<RouteDecision> first;
  for (const CallSite& request : requests) {
    RouteDecision d = decide(registry, request);
    if (!d.selected()) return d;
    if (first && first->variant != d.variant) {
      RouteDecision mixed =
          stock(RouteOutcome::out_of_domain, "the requests of the batch need the variants " + first->variant + " and " +
                                                 d.variant + ", and one call serves them all");
      return mixed;
    }
    if (!first) first = std::move(d);
  }
  return std::move(*first);
}

}  // namespace assay
