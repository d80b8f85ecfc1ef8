// examiner_failure.cc: a rule's failure, made smaller and written down.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "conformance/command_line.hpp"
#include "conformance/examiner_state.hpp"
#include "conformance/patience.hpp"
#include "harness/case/digest.hpp"
#include "harness/case/json.hpp"
#include "harness/drive/cell_map_of.hpp"
#include "harness/drive/drives.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLeastShrinkSeconds = 1;  // for each further rule, once the slot and dtype's budget is spent

std::string number_text(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

std::string one_line(const Trial& t) {
  std::string text = std::string(name_of(t.part.drive)) + ": ";
  for (std::size_t i = 0; i < t.part.cases.size(); ++i) text += (i ? " | " : "") + describe(t.part.cases[i]);
  for (const TrialPart& p : t.history) {
    text += "; after " + std::string(name_of(p.drive)) + ": ";
    for (std::size_t i = 0; i < p.cases.size(); ++i) text += (i ? " | " : "") + describe(p.cases[i]);
  }
  return text;
}

}  // namespace

FailureRecord Examiner::shrink(const Unit& unit, UnitState& state, const RuleSpec& rule, const Finding& finding) {
  const auto start = Clock::now();
  take_up(unit);
  bench_.set_shrinking(true);
  std::string output;
  std::pair<Trial, std::vector<CellMap>> drawn;  // the last that failed
  const auto evaluate = [&](const Trial& t, ShrinkDriver::Worker worker) {
    if (worker == ShrinkDriver::Worker::fresh) bench_.retire_worker();
    for (const Case& c : t.part.cases)  // the router is also asked about what lies outside
      if (!inside(unit, c, false) && !(t.part.drive == Drive::routed && &c != t.part.cases.data())) return not_applicable();
    if (!fits(*unit.variant->slot, t.part)) return not_applicable();
    const Observation seen = observe_patiently(bench_, t, config_.tier, wary_);
    Judgement j = judge(rule, seen);
    if (j.verdict != Verdict::fail) return j;
    output = bench_.worker_output();
    drawn = {t, cell_maps_of(seen, j)};
    return j;
  };
  // The budget is the slot and dtype's; a second rule that fails on the very end of a trial takes what the first found.
  ShrinkBudget budget;
  budget.seconds = std::max(kLeastShrinkSeconds, budget.seconds - state.shrink_seconds);
  const std::string same = finding.judgement.ended_trial ? to_json(finding.trial).dump() + finding.judgement.text : "";
  const auto known = state.known_ends.find(same);
  ShrinkOutcome outcome;
  if (!same.empty() && known != state.known_ends.end()) {
    std::tie(outcome, output) = known->second;
  } else {
    ShrinkDriver driver(*unit.variant->slot, evaluate, [start] { return seconds_since(start); }, budget);
    outcome = driver.shrink(finding.trial, finding.judgement, finding.history, state.shrunk);
    if (!same.empty()) state.known_ends[same] = {outcome, output};
  }
  state.shrink_seconds += seconds_since(start);
  bench_.set_shrinking(false);
  bench_.retire_worker();
  if (std::find(state.shrunk.begin(), state.shrunk.end(), outcome.trial) == state.shrunk.end())
    state.shrunk.push_back(outcome.trial);

  FailureRecord f;
  f.subject = subject_of(unit);
  f.subject.rule = rule.id;
  const Judgement& j = outcome.judgement;
  f.reason = j.reason;
  f.text = j.text;
  f.label = j.label;
  f.pattern = j.pattern;
  f.bound = j.bound;
  for (const WorstCell& cell : j.worst)
    f.worst.push_back({{"where", cell.where},
                       {"actual", number_text(cell.actual)},
                       {"expected", number_text(cell.expected)},
                       {"bound", number_text(cell.bound)}});
  f.trial = to_json(outcome.trial);
  f.trial_text = one_line(outcome.trial);
  f.cases_until_caught = finding.cases_until_caught;
  f.shrink_runs = outcome.runs;
  f.seconds_until_shrunk = seconds_since(start);
  f.minimal = outcome.minimal;
  f.confirmed = outcome.confirmed;
  f.worker_output = output.size() > 2000 ? output.substr(output.size() - 2000) : output;
  if (drawn.first == outcome.trial) f.maps = std::move(drawn.second);
  if (!(finding.trial == outcome.trial)) add_caught(f.maps, finding.maps, one_line(finding.trial));
  const std::string text = canonical(f.trial) + "\n";
  const std::string name = f.subject.slot + "-" + f.subject.dtype + "-" + sha256_hex(text).substr(0, 12) + ".json";
  for (const std::string& folder : {config_.trial_folder, config_.corpus}) {
    if (folder.empty()) continue;
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/" + name) << text;
  }
  if (!config_.trial_folder.empty()) {
    f.trial_file = config_.trial_folder + "/" + name;
    f.replay = shell_word(config_.program) + " replay " + shell_word(f.trial_file) + config_.replay_suffix;
    // A call that cannot even be made fails rules that read other drives, too: the trial is not theirs to judge.
    if (reads(rule, outcome.trial.part.drive)) f.replay += " --rule " + rule.id;
  }
  return f;
}

}  // namespace assay
