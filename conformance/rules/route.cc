// route.*: what a router in front of stock and the candidate's variants may rely on.
#include "conformance/rules/judging.hpp"
#include "conformance/rules/together.hpp"
#include "harness/case/json.hpp"
#include "harness/drive/bench.hpp"
#include "harness/route/routing_table.hpp"
#include "harness/route/serving.hpp"

namespace assay {
namespace {

using Ask = RoutedSeen::Ask;

const Observation& on_rank(const Observation& seen, std::size_t rank) {
  return rank == 0 ? seen : seen.others[rank - 1];
}

std::string at_rank(const Observation& seen, const std::string& label, std::size_t rank) {
  return seen.others.empty() ? label : label + ", rank " + std::to_string(rank);
}

const CallSeen* call_of(const Observation& seen, const std::string& label) {
  for (const CallSeen& call : seen.calls)
    if (call.label == label) return &call;
  return nullptr;
}

// The router is ours: what it gets wrong is no candidate's.
Judgement defect(const std::string& text, const std::string& label) {
  Judgement j;
  j.verdict = Verdict::no_decision;
  j.reason = Reason::harness;
  j.text = text;
  j.label = label;
  return j;
}

// DR-10: what was observed of the call is what offline verification has, byte for byte, on every rank (DR-11).
std::optional<Judgement> parity(const RoutedSeen& r) {
  for (const std::string& live : r.live)
    if (live != r.offline) return defect("the call's descriptor is " + live + ", and offline " + r.offline, r.label);
  return std::nullopt;
}

// A call that stock served: no entry of the candidate, and stock's own bytes once the device is at rest.
std::optional<Judgement> stocks_own(const Observation& seen, const RoutedSeen& r) {
  for (std::size_t rank = 0; rank < r.entries.size(); ++rank) {
    if (r.entries[rank] != 0)
      return fail(Reason::misrouted,
                  "stock served the call, and the candidate was entered " + std::to_string(r.entries[rank]) + " times",
                  at_rank(seen, r.label, rank));
    const CallSeen* call = call_of(on_rank(seen, rank), r.label);
    if (!call || !call->reference) continue;
    for (std::size_t i = 0; i < call->outputs.size(); ++i) {
      const OutputSeen& out = call->outputs[i];
      const Tensor stock = in_dtype(call->reference->outputs[i].expected, out.actual.view().dtype);
      if (const auto text = judging::bitwise_difference(out.actual, stock); !text.empty())
        return fail(Reason::stock_disturbed,
                    out.spec->name + " of a call that stock served is not what stock wrote: " + text,
                    at_rank(seen, r.label, rank));
      if (!out.canary.clean())
        return fail(Reason::stock_disturbed,
                    "bytes around " + out.spec->name + " of a call that stock served were written: " + out.canary.text,
                    at_rank(seen, r.label, rank));
    }
  }
  return std::nullopt;
}

// A call that the candidate served: one entry on every rank, and right on every rank.
std::optional<Judgement> candidates_own(const Observation& seen, const RoutedSeen& r) {
  for (std::size_t rank = 0; rank < r.entries.size(); ++rank) {
    if (r.entries[rank] != 1)
      return defect("the candidate was selected, and entered " + std::to_string(r.entries[rank]) + " times",
                    at_rank(seen, r.label, rank));
    const CallSeen* call = call_of(on_rank(seen, rank), r.label);
    if (!call) continue;
    auto found = judging::unwritten(*call);
    if (!found) found = judging::mismatch(seen, *call);
    if (!found) continue;
    found->label = at_rank(seen, r.label, rank);
    found->text = r.decision.variant + " declares this call, and is wrong: " + found->text;
    return found;
  }
  return std::nullopt;
}

std::optional<Judgement> served_right(const Observation& seen, const RoutedSeen& r) {
  if (!r.called) return std::nullopt;
  return r.agreement.by == Served::candidate ? candidates_own(seen, r) : stocks_own(seen, r);
}

// Who has to serve a call of this descriptor: the one variant whose domain accepts it, else stock.
std::vector<std::string> accepting(const Observation& seen, const RoutedSeen& r) {
  return seen.variant.routing->variants.accepting(decode_descriptor(r.offline));
}

Judgement domain(const Observation& seen) {
  bool evidence = false;
  for (const RoutedSeen& r : seen.routed) {
    if (r.ask != Ask::inside && r.ask != Ask::other && r.ask != Ask::captured) continue;
    if (auto broken = parity(r)) return *broken;
    const auto ids = accepting(seen, r);
    if (ids.size() > 1) return not_applicable();  // route.disjoint says it
    const bool selected = r.decision.selected();
    if (selected != (ids.size() == 1) || (selected && r.decision.variant != ids[0]))
      return defect("the router decided " + std::string(name_of(r.decision.outcome)) + " where " +
                        (ids.empty() ? "no variant" : ids[0]) + " accepts the call: " + r.decision.why,
                    r.label);
    if (auto found = served_right(seen, r)) return *found;
    evidence = evidence || (r.called && selected);
  }
  return seen.routed.empty() ? not_applicable() : pass(evidence && judging::informative(seen));
}

Judgement disjoint_set(const Observation& seen) {
  bool any = false;
  for (const RoutedSeen& r : seen.routed) {
    if (r.live.empty()) continue;
    any = true;
    const auto ids = accepting(seen, r);
    if (ids.size() > 1)
      return fail(Reason::overlap, ids[0] + " and " + ids[1] + " both accept the call " + r.offline, r.label);
  }
  return any ? pass() : not_applicable();
}

// With a fact unknown that the domain names, the variant is not selected, and stock is left alone.
Judgement closed(const Observation& seen) {
  bool any = false;
  for (const RoutedSeen& r : seen.routed) {
    if (r.ask != Ask::withheld) continue;
    any = true;
    if (auto broken = parity(r)) return *broken;
    if (r.decision.selected() && r.decision.variant == seen.variant.id)
      return defect("the variant was selected although " + r.detail + " is unknown", r.label);
    if (auto found = served_right(seen, r)) return *found;
  }
  return any ? pass() : not_applicable();
}

// What was called while the runtime tuned itself is stock's and no evidence; the first call after it is as right as
// any.
Judgement tuning_excluded(const Observation& seen) {
  bool excluded = false, after = false;
  for (const RoutedSeen& r : seen.routed) {
    if (r.ask == Ask::excluded) {
      excluded = true;
      if (r.decision.outcome != RouteOutcome::excluded_phase || !r.live.empty())
        return defect("a call in an excluded phase was looked at: " + std::string(name_of(r.decision.outcome)),
                      r.label);
      if (auto found = stocks_own(seen, r)) return *found;
    } else if (excluded && !after && r.called && r.agreement.by == Served::candidate) {
      after = true;
      if (auto found = candidates_own(seen, r)) {
        found->text = "the first call after an excluded phase: " + found->text;
        return *found;
      }
    }
  }
  if (!excluded) return not_applicable();
  return pass(after);
}

// In strict mode a selected call is the candidate's alone, also where it fails.
Judgement no_silent_retry(const Observation& seen) {
  bool any = false;
  for (const RoutedSeen& r : seen.routed) {
    if (!r.called || r.agreement.by != Served::candidate) continue;
    any = true;
    for (std::size_t rank = 0; rank < r.entries.size(); ++rank)
      if (r.entries[rank] != 1)
        return defect("the candidate was selected, and entered " + std::to_string(r.entries[rank]) + " times", r.label);
  }
  return any ? pass() : not_applicable();
}

Judgement failed_after_selection(const Observation& seen) {
  if (seen.failed_code != StepCode::entry_failed) return failed_step(seen);
  const std::string what = seen.failed_text.empty() ? std::string(name_of(seen.failed_code)) : seen.failed_text;
  if (seen.routed.empty() || !seen.routed.back().decision.selected()) return defect(what, seen.failed_label);
  const RoutedSeen& r = seen.routed.back();
  const ServedCall served =
      serve(r.decision, RetryMode::strict, seen.slot->kind == Kind::collective, {.call = [&]() -> StepResult {
              return StepFailure{what, AttemptEffect::candidate};
            }});
  if (served.by != ServedCall::By::nobody || !served.disqualified) return defect("stock was asked again", r.label);
  return fail(Reason::entry_failed,
              r.decision.variant + " was selected for a call of its domain and refused it: " + served.failure +
                  "; stock does not step in",
              seen.failed_label);
}

const RuleRow rows[] = {
    RuleRow{{.id = "route.closed",
             .sentence = "An unknown or absent fact fails closed: the variant is not called.",
             .how = "the router is asked with a fact unknown that the domain names; stock serves, and its bytes are "
                    "compared once the device is at rest",
             .drives = {Drive::routed},
             .across_ranks = true,
             .judge = closed}},
    RuleRow{{.id = "route.disjoint",
             .sentence = "No call is accepted by two variants of a slot.",
             .how = "decided exactly when the library is loaded, with a call that both accept; every routed call is "
                    "matched against all variants",
             .drives = {Drive::routed},
             .across_ranks = true,
             .judge = disjoint_set}},
    RuleRow{{.id = "route.domain",
             .sentence =
                 "Inside the declared domain the candidate runs and is right; outside it stock runs and nothing "
                 "counts as the candidate's.",
             .how = "calls on both sides of every boundary of the domain, through one call site",
             .drives = {Drive::routed},
             .across_ranks = true,
             .judge = domain}},
    RuleRow{{.id = "route.no_silent_retry",
             .sentence = "A selected candidate that fails is never retried on stock.",
             .how = "the router is strict: a call that the candidate refuses inside its domain is served by nobody",
             .drives = {Drive::routed},
             .across_ranks = true,
             .judge = no_silent_retry,
             .on_failed_step = failed_after_selection}},
    RuleRow{{.id = "route.tuning_excluded",
             .sentence = "Calls made while the runtime tunes itself go to stock and are no evidence.",
             .how = "a call in the tuning phase, then the candidate's first, which must be right without a warm-up",
             .drives = {Drive::routed},
             .across_ranks = true,
             .judge = tuning_excluded}},
};

}  // namespace

Judgement judging::stock_on_all_ranks(const Observation& seen) {
  bool any = false;
  for (const RoutedSeen& r : seen.routed) {
    if (r.ask != Ask::ineligible) continue;
    any = true;
    if (r.agreement.by != Served::stock || r.agreement.outcome != RouteOutcome::rank_divergence)
      return defect("with " + r.detail + " not eligible the ranks agreed on " + std::string(name_of(r.agreement.by)),
                    r.label);
    if (auto found = stocks_own(seen, r)) return *found;
  }
  return any ? pass() : not_applicable();
}

}  // namespace assay
