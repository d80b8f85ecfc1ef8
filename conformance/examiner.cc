#include "conformance/examiner.hpp"

#include "conformance/examiner_state.hpp"

namespace assay {
namespace {

// Whether nothing that the rule reads is tried, for want of a GPU a rank.
bool left_out(const Effort& effort, const RuleSpec& rule) {
  return std::all_of(rule.drives.begin(), rule.drives.end(), [&](Drive drive) {
    return drive == Drive::one_rank ? effort.loss_every == 0 : drive == Drive::endurance && !effort.endures;
  });
}

}  // namespace

Subject subject_of(const Unit& unit) {
  return {unit.variant->slot->id, unit.variant->info.id, std::string(name_of(unit.variant->device)),
          std::string(name_of(unit.dtype)), "", unit.ranks};
}

std::string key_of(const Subject& s) {
  return s.slot + "/" + s.variant + "/" + s.device + "/" + s.dtype + "/" + std::to_string(s.ranks);
}

Examiner::Examiner(ExaminerConfig config, Bench& bench, ResultWriter& writer)
    : config_(std::move(config)), bench_(bench), writer_(writer) {}
Examiner::~Examiner() = default;

Examiner::UnitState& Examiner::state_of(const Unit& unit) {
  const Subject s = subject_of(unit);
  auto& state = units_[key_of(s)];
  if (!state) {
    state = std::make_unique<UnitState>();
    state->tried = untried(*unit.variant->slot);
    state->effort = effort_of(config_.tier, unit.variant->device, unit.ranks, bench_.sharing(unit.ranks), unit.dtype,
                              unit.variants);
    for (const RuleSpec* rule : config_.rules)
      if (applies(*rule, *unit.variant->slot, unit.variant->device) && declared_for(*rule, unit.variant->info.flags))
        state->rules.push_back(rule);
  }
  return *state;
}

RuleRecord Examiner::examine(const Unit& unit, const RuleSpec& rule) {
  RuleRecord result;
  result.subject = subject_of(unit);
  result.subject.rule = rule.id;
  UnitState& state = state_of(unit);
  const auto done = [&] {
    if (config_.waivers) config_.waivers->apply(result);
    writer_.line(to_json(result));
    return result;
  };
  const VariantInfo& info = unit.variant->info;
  if (rule.id == "graph.declared" && !info.graph_safe()) {
    result.verdict = Verdict::numerical_pass;
    result.reason = Reason::no_graph_proof;
    result.text = "the variant does not declare GRAPH_SAFE: there is no graph proof";
    return done();
  }
  if (std::find(state.rules.begin(), state.rules.end(), &rule) == state.rules.end()) {
    result.verdict = Verdict::not_applicable;
    result.reason = Reason::undeclared;
    result.text = "the rule does not apply to this slot, device or the variant's flags";
    return done();
  }
  if (!state.corpus_done) {
    state.corpus_done = true;
    observe_corpus(unit, state);
    observe_boundaries(unit, state);
  }
  bool failed = state.failing.count(rule.id) != 0;  // in the corpus
  if (state.cases.empty()) draw_cases(unit, state);
  if (!failed && !state.undrawn.empty()) {
    result.verdict = Verdict::no_decision;
    result.reason = Reason::harness;
    result.text = state.undrawn;
    return done();
  }
  for (const auto& [key, c] : state.cases) failed = failed || !consider(unit, state, key, c, rule);
  std::string undecided;
  for (const auto& [key, rules] : state.seen) {
    const auto kept = rules.find(rule.id);
    if (kept == rules.end() || kept->second.verdict == Verdict::not_applicable) continue;
    ++result.judged;
    result.evidence += kept->second.evidence;
    if (kept->second.verdict == Verdict::no_decision) undecided = kept->second.text;
  }
  result.warnings = state.warnings[rule.id];
  if (failed) {
    result.verdict = Verdict::fail;
    const Finding finding = state.failing.at(rule.id);
    const std::string name = key_of(result.subject) + "\n" + rule.id;
    if (unit.parts > 1 && config_.claims && !config_.claims->take(name)) {  // another part's failure stands for all
      result.reason = finding.judgement.reason;
      result.text = finding.judgement.text;
      return done();
    }
    const FailureRecord failure = [&] {
      try {
        return shrink(unit, state, rule, finding);
      } catch (...) {
        if (config_.claims) config_.claims->give_back(name);
        throw;
      }
    }();
    result.reason = failure.reason;
    result.text = failure.text;
    if (is_flaky(failure)) {
      result.reason = Reason::flaky;
      if (config_.claims) config_.claims->give_back(name);  // another part may find it confirmed
    }
    writer_.line(to_json(failure));
    return done();
  }
  if (!undecided.empty()) {
    result.verdict = Verdict::no_decision;
    result.reason = Reason::harness;
    result.text = undecided;
  } else if (result.judged == 0 && state.distinct > 0 && state.outside == state.distinct) {
    const bool context = state.outside_by_words == state.outside;
    result.verdict = context ? Verdict::not_applicable : Verdict::no_decision;
    result.reason = context ? Reason::outside_domain : Reason::no_case;
    result.text = context ? "the variant's domain excludes this dtype, architecture or number of ranks"
                          : "no generated case lies inside the variant's domain: widen it, or try --tier full";
  } else if (result.judged == 0 && left_out(state.effort, rule)) {
    result.verdict = Verdict::not_applicable;
    result.reason = Reason::no_case;
    const bool lost = std::find(rule.drives.begin(), rule.drives.end(), Drive::one_rank) != rule.drives.end();
    result.text = lost ? "left out where ranks share a GPU: by turns a rank is lost only in bf16 and of more than two, and "
                         "under MPS it takes others along"
                       : "left out where ranks share a GPU: very many calls take too long there";
  } else if (result.judged == 0) {
    const bool ended = std::any_of(rule.drives.begin(), rule.drives.end(),
                                   [&](Drive drive) { return state.ended[static_cast<std::size_t>(drive)]; });
    result.verdict = Verdict::not_applicable;
    result.reason = Reason::no_case;
    result.text = ended ? "every call of its trials ended before this rule had something to judge"
                        : "the slot has nothing that this rule asks about";
  } else if (result.evidence == 0) {
    result.verdict = Verdict::vacuous;
    result.reason = Reason::vacuous;
    result.text = "no informative case was drawn";
  }
  return done();
}

void Examiner::finish(const Unit& unit) {
  UnitState& state = state_of(unit);
  CasesRecord line;
  line.subject = subject_of(unit);
  // Every part knows all of them: one says so.
  line.distinct = unit.part == 0 ? state.distinct : 0;
  line.outside_domain = unit.part == 0 ? state.outside : 0;
  if (unit.part == 0) line.tried = state.tried;
  writer_.line(to_json(line));
  units_.erase(key_of(line.subject));
}

}  // namespace assay
