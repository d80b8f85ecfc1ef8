#include "assay/rule.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace assay {
namespace {

std::vector<const RuleSpec*>& registry() {
  static auto* rules = new std::vector<const RuleSpec*>;  // outlives every destructor: what it owns stays reachable
  return *rules;
}

Judgement judged(const RuleSpec& rule, const Observation& seen) {
  if (seen.fault) {
    Judgement j;
    j.verdict = seen.fault->verdict;
    j.reason = seen.fault->reason;
    j.text = seen.fault->text;
    j.label = seen.failed_label;
    j.ended_trial = true;
    return j;
  }
  if (seen.failed_op) return rule.on_failed_step ? rule.on_failed_step(seen) : failed_step(seen);
  return rule.judge(seen);
}

int badness(const Judgement& j) {
  return j.verdict == Verdict::fail ? 3 : j.verdict == Verdict::no_decision ? 2 : j.verdict == Verdict::pass ? 1 : 0;
}

// Each rank's view by itself, and the worst of them; what ended the trial is told once, by rank 0's.
Judgement judged_on_ranks(const RuleSpec& rule, const Observation& seen) {
  Judgement worst = judged(rule, seen);
  if (seen.fault || seen.failed_op || rule.across_ranks) return worst;
  int whose = 0;
  for (const Observation& other : seen.others) {
    Judgement j = judged(rule, other);
    const bool evidence = worst.evidence || j.evidence;
    if (worst.warning.empty() && !j.warning.empty()) worst.warning = "rank " + std::to_string(other.rank) + ": " + j.warning;
    if (badness(j) > badness(worst)) {
      j.warning = worst.warning;
      worst = std::move(j);
      whose = other.rank;
    }
    worst.evidence = evidence;
  }
  if (!seen.others.empty() && badness(worst) > 1) worst.label += ", rank " + std::to_string(whose);
  return worst;
}

}  // namespace

Judgement failed_step(const Observation& seen) {
  const std::string text = std::string(name_of(*seen.failed_op)) + ": " +
                           (seen.failed_text.empty() ? std::string(name_of(seen.failed_code)) : seen.failed_text);
  const auto reason = [&] {
    switch (seen.failed_code) {
      case StepCode::entry_failed:
      case StepCode::launch_invalid: return Reason::entry_failed;
      case StepCode::synchronised_held: return Reason::host_sync;
      case StepCode::capture_illegal:
      case StepCode::capture_unjoined:
      case StepCode::capture_empty:
      case StepCode::capture_host_node: return Reason::capture_failed;
      case StepCode::device_fault: return Reason::device_fault;
      default: return Reason::harness;
    }
  }();
  Judgement j = fail(reason, text, seen.failed_label);
  if (reason == Reason::harness) j.verdict = Verdict::no_decision;
  j.ended_trial = true;
  return j;
}

RuleRow::RuleRow(RuleSpec spec) {
  if (spec.id.empty() || find_rule(spec.id) || spec.drives.empty() || !spec.judge) {
    std::fprintf(stderr, "assay: the rule '%s' is incomplete or registered twice\n", spec.id.c_str());
    std::abort();
  }
  auto* owned = new RuleSpec(std::move(spec));  // lives as long as the program, like the row that registered it
  auto& rules = registry();
  rules.insert(std::upper_bound(rules.begin(), rules.end(), owned,
                                [](const RuleSpec* a, const RuleSpec* b) { return a->id < b->id; }),
               owned);
}

const std::vector<const RuleSpec*>& rule_catalogue() { return registry(); }

const RuleSpec* find_rule(std::string_view id) {
  for (const RuleSpec* r : registry())
    if (r->id == id) return r;
  return nullptr;
}

bool applies(const RuleSpec& rule, const SlotSpec& slot, DeviceType device) {
  if (rule.needs_prepare && slot.weights.empty()) return false;
  return std::find(rule.kinds.begin(), rule.kinds.end(), slot.kind) != rule.kinds.end() &&
         std::find(rule.devices.begin(), rule.devices.end(), device) != rule.devices.end();
}

bool declared_for(const RuleSpec& rule, std::uint32_t flags) {
  return (flags & rule.needs_flags) == rule.needs_flags && !(flags & rule.excused_by_flags);
}

Judgement judge(const RuleSpec& rule, const Observation& seen) {
  Judgement j = judged_on_ranks(rule, seen);
  if (j.verdict != Verdict::fail || !seen.trial.part.cases.front().padded) return j;
  // Contiguous by contract, and no source says so: what breaks on padding, or refuses it, is told and never failed.
  Judgement told = pass();
  told.warning = std::string(name_of(Reason::contiguous_only)) + ": right on contiguous outputs only: " + j.text;
  return told;
}

}  // namespace assay
