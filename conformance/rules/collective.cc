// collective.*: what the ranks of a group owe together.
#include <algorithm>

#include "conformance/rules/judging.hpp"
#include "conformance/rules/together.hpp"

namespace assay {
namespace {

// A group of one is legal, and no evidence for a larger one.
Judgement reference(const Observation& seen) {
  if (seen.others.empty()) return not_applicable();
  if (auto found = judging::any_mismatch(seen)) return *found;
  Judgement good = pass(judging::informative(seen));
  for (const Observation& other : seen.others) {
    if (auto found = judging::any_mismatch(other)) {
      found->label += ", rank " + std::to_string(other.rank);
      return *found;
    }
    for (std::size_t k = 0; k < std::min(seen.calls.size(), other.calls.size()); ++k)
      for (std::size_t i = 0; i < seen.calls[k].outputs.size(); ++i) {
        const OutputSeen &mine = seen.calls[k].outputs[i], &theirs = other.calls[k].outputs[i];
        if (const auto text = judging::bitwise_difference(mine.actual, theirs.actual); !text.empty())
          good.warning = "ranks 0 and " + std::to_string(other.rank) + " differ in " + mine.spec->name + ": " + text;
      }
  }
  return good;
}

bool begins(const CallSeen& call, std::string_view prefix) { return call.label.rfind(prefix, 0) == 0; }

// The comparator on the calls whose labels begin so; there are none, where the drive made none.
Judgement right_where(const Observation& seen, Reason reason, std::initializer_list<std::string_view> prefixes) {
  bool any = false, evidence = false;
  for (const CallSeen& call : seen.calls) {
    if (std::none_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return begins(call, p); })) continue;
    if (auto found = judging::mismatch(seen, call, reason)) return *found;
    if (auto found = judging::unwritten(call)) return *found;
    any = true;
    evidence = evidence || (call.informative && call.reference);
  }
  return any ? pass(evidence) : not_applicable();
}

Judgement modes(const Observation& seen) {
  Judgement j = right_where(seen, Reason::mode_switch, {"size"});
  // One side alone says nothing of the switch.
  j.evidence = j.evidence && std::any_of(seen.calls.begin(), seen.calls.end(),
                                         [](const CallSeen& call) { return begins(call, "size under"); });
  return j;
}

Judgement replicated(const Observation& seen) {
  Judgement j = right_where(seen, Reason::mixed_inputs, {"other values"});
  if (j.verdict != Verdict::fail) return j;
  j.text = "does not follow " + j.label + ": " + j.text;
  return j;
}

Judgement abort_together(const Observation& seen) {
  const LossSeen& loss = seen.loss;
  if (loss.rank < 0) return not_applicable();
  const std::string lost = "rank " + std::to_string(loss.rank) + ", which " + name_of(loss.how) + " in its call";
  if (!loss.completed.empty())
    return fail(Reason::fell_back,
                "rank " + std::to_string(loss.completed.front()) + " completed the call without " + lost +
                    ": it used something else instead",
                "call without a rank");
  if (loss.found != loss.rank)
    return fail(Reason::not_aborted,
                "without " + lost + ", rank " + std::to_string(loss.found) + " failed first: " + loss.text,
                "call without a rank");
  if (auto found = judging::any_mismatch(seen, Reason::not_aborted)) return *found;
  return pass();  // whatever the values: it is the loss that informs, and no call without cells has one
}

// A call is refused by all ranks or by none: a peer that was given it waits in it for the one that refuses.
Judgement refused_by_some(const Observation& seen) {
  const int ranks = static_cast<int>(seen.others.size()) + 1;
  if (seen.failed_code != StepCode::entry_failed || seen.refusing == 0 || seen.refusing == ranks) return failed_step(seen);
  return fail(Reason::rank_ineligible,
              std::to_string(seen.refusing) + " of " + std::to_string(ranks) +
                  " ranks refuse a call that all were given: who serves it is decided before it, on all ranks alike",
              seen.failed_label);
}

Judgement selected_together(const Observation& seen) {
  if (seen.trial.part.drive == Drive::routed) return judging::stock_on_all_ranks(seen);
  if (seen.others.empty()) return not_applicable();
  for (const Observation& other : seen.others)
    if (other.calls.size() != seen.calls.size())
      return fail(Reason::rank_ineligible, "rank " + std::to_string(other.rank) + " made " +
                                               std::to_string(other.calls.size()) + " calls where rank 0 made " +
                                               std::to_string(seen.calls.size()),
                  "calls of all ranks");
  return pass(judging::informative(seen));
}

Judgement world_sizes(const Observation& seen) {
  if (seen.others.empty()) return not_applicable();
  const auto wrong = [&](const Observation& rank) -> std::optional<Judgement> {
    auto found = judging::any_mismatch(rank, Reason::world_size);
    if (!found) return std::nullopt;
    found->text = "the domain declares " + std::to_string(seen.others.size() + 1) + " ranks: " + found->text;
    found->label += ", rank " + std::to_string(rank.rank);
    return found;
  };
  if (auto found = wrong(seen)) return *found;
  for (const Observation& other : seen.others)
    if (auto found = wrong(other)) return *found;
  return pass(judging::informative(seen));
}

const RuleRow rows[] = {
    RuleRow{{.id = "collective.reference",
             .sentence = "Every output on every rank agrees with the cross-rank float64 reference.",
             .how = "partials of each rank's own, the sum computed by the judge from all of them; every rank compared",
             .drives = {Drive::eager},
             .kinds = {Kind::collective},
             .across_ranks = true,
             .judge = reference}},
    RuleRow{{.id = "collective.skew",
             .sentence = "Calls that no rank waits for are right, whichever rank comes late.",
             .how = "sizes up and down again back to back, other values each, each rank delayed by up to 200 us a call",
             .drives = {Drive::burst},
             .kinds = {Kind::collective},
             .judge = [](const Observation& seen) { return right_where(seen, Reason::skewed, {"burst"}); }}},
    RuleRow{{.id = "collective.modes",
             .sentence = "Right on both sides of every size at which implementations change their ways.",
             .how = "a dim at one of the slot's edges or one over it, and one under that",
             .drives = {Drive::burst},
             .kinds = {Kind::collective},
             .judge = modes}},
    RuleRow{{.id = "collective.graph_skew",
             .sentence = "Replays that no rank waits for are right, whichever rank comes late.",
             .how = "two graphs of one and two calls, replayed as drawn with fresh inputs, each rank delayed",
             .drives = {Drive::burst},
             .kinds = {Kind::collective},
             .needs_flags = ASSAY_GRAPH_SAFE,
             .judge = [](const Observation& seen) { return right_where(seen, Reason::graph_skewed, {"replay"}); }}},
    RuleRow{{.id = "collective.group_only",
             .sentence = "The given group is the scope: its members in its order, and nobody else.",
             .how = "all ranks in another order, two halves at once, the world between; RANK and WORLD_SIZE lie",
             .drives = {Drive::groups},
             .kinds = {Kind::collective},
             .judge =
                 [](const Observation& seen) {
                   return right_where(seen, Reason::wrong_group, {"reordered", "subgroup", "world beside"});
                 }}},
    RuleRow{{.id = "collective.replicated",
             .sentence = "What differs by rank counts for each rank, what the ranks share counts once.",
             .how = "other values in all that the ranks share, then on the last rank alone",
             .drives = {Drive::groups},
             .kinds = {Kind::collective},
             .judge = replicated}},
    RuleRow{{.id = "collective.abort_together",
             .sentence = "Where one rank fails in a call, none completes it, and all end within the deadline.",
             .how = "a rank fails, exits or hangs while its peers are in the call; then a fresh set of ranks goes on",
             .drives = {Drive::one_rank},
             .kinds = {Kind::collective},
             .judge = abort_together}},
    RuleRow{{.id = "collective.all_rank_selection",
             .sentence = "A call is served by the candidate on all ranks or on none: no rank refuses what its peers are "
                         "given, and one that is not eligible sends all to stock, before any candidate work.",
             .how = "the same call on every rank, of a group of its own; and a router that is told of one rank that it is "
                    "not eligible: the digests differ, stock serves on all, and its bytes are compared at rest",
             .drives = {Drive::one_rank, Drive::routed},
             .kinds = {Kind::collective},
             .across_ranks = true,
             .judge = selected_together,
             .on_failed_step = refused_by_some}},
    RuleRow{{.id = "collective.world_sizes",
             .sentence = "Right at every declared number of ranks.",
             .how = "each group size of the run that the domain accepts; one is legal, and evidence for no larger",
             .drives = {Drive::eager},
             .kinds = {Kind::collective},
             .across_ranks = true,
             .judge = world_sizes}},
};

}  // namespace
}  // namespace assay
