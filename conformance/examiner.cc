#include "conformance/examiner.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "assay/property.hpp"
#include "conformance/command_line.hpp"
#include "conformance/patience.hpp"
#include "conformance/tried_cases.hpp"
#include "harness/case/digest.hpp"
#include "harness/case/json.hpp"
#include "harness/drive/cell_map_of.hpp"
#include "harness/drive/drives.hpp"
#include "harness/shrink/driver.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRoutedCases = 6;  // drawn ones; the boundaries of a domain have trials of their own
constexpr int kEnduranceCases = 1;  // of very many calls; in each part of a unit
constexpr int kMostEnded = 3;  // trials of a drive in a row that the candidate ends: each may cost a fresh worker

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool reads(const RuleSpec& rule, Drive drive) {
  return std::find(rule.drives.begin(), rule.drives.end(), drive) != rule.drives.end();
}

// Whether nothing that the rule reads is tried, for want of a GPU a rank.
bool left_out(const Effort& effort, const RuleSpec& rule) {
  return std::all_of(rule.drives.begin(), rule.drives.end(), [&](Drive drive) {
    return drive == Drive::one_rank ? effort.loss_every == 0 : drive == Drive::endurance && !effort.endures;
  });
}

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

constexpr double kLeastShrinkSeconds = 1;  // for each further rule, once the slot and dtype's budget is spent

// What a rule made of one trial, kept instead of the observation.
struct Kept {
  Judgement judgement;
};

}  // namespace

Subject subject_of(const Unit& unit) {
  return {unit.variant->slot->id, unit.variant->info.id, std::string(name_of(unit.variant->device)),
          std::string(name_of(unit.dtype)), "", unit.ranks};
}

std::string key_of(const Subject& s) {
  return s.slot + "/" + s.variant + "/" + s.device + "/" + s.dtype + "/" + std::to_string(s.ranks);
}

struct Examiner::Finding {
  Trial trial;
  Judgement judgement;
  std::vector<TrialPart> history;   // of the worker that it happened in
  std::int64_t cases_until_caught = 0;
  std::vector<CellMap> maps;        // as caught: the shrunk trial may be too small to show a pattern
};

struct Examiner::UnitState {
  std::vector<const RuleSpec*> rules;                       // that apply and whose flags fit
  std::unordered_map<std::string, std::map<std::string, Kept>> seen;  // case -> rule -> worst judgement
  std::map<std::string, Finding> failing;                   // by rule
  std::vector<Trial> shrunk;                                // of this unit's slot
  Effort effort;
  std::vector<std::pair<std::string, Case>> cases;          // of the tier, in this order, by describe()
  std::string undrawn;                                      // why there are none
  std::int64_t drawn = 0;                                   // of the tier
  std::int64_t distinct = 0, outside = 0, outside_by_words = 0;
  std::int64_t observed = 0;                                // cases that ran, here or in another part
  std::int64_t full = 0;                                    // of them, those whose outputs have cells
  std::map<std::string, bool> informed;                     // rules that were asked: whether a case was informative
  Tried tried;                                              // what these met
  int routed = 0, boundaries = 0;                           // through the router: of them, and beside them
  int endured = 0;                                          // of them
  std::array<int, kDrives> ended_in_row{};                  // trials of each drive that the candidate ended
  std::array<bool, kDrives> ended{};                        // whether there was one
  std::map<std::string, std::vector<std::string>> warnings; // by rule
  bool corpus_done = false;
  // Failures that no rule's own judgement shapes (the worker's end, a refused step), already shrunk: by trial and text.
  std::map<std::string, std::pair<ShrinkOutcome, std::string>> known_ends;
  double shrink_seconds = 0;
};

Examiner::Examiner(ExaminerConfig config, Bench& bench, ResultWriter& writer)
    : config_(std::move(config)), bench_(bench), writer_(writer) {}
Examiner::~Examiner() = default;

Examiner::UnitState& Examiner::state_of(const Unit& unit) {
  const Subject s = subject_of(unit);
  auto& state = units_[key_of(s)];
  if (!state) {
    state = std::make_unique<UnitState>();
    state->tried = untried(*unit.variant->slot);
    const Sharing sharing = config_.sharing ? config_.sharing(unit.ranks) : Sharing::none;
    state->effort = effort_of(config_.tier, unit.variant->device, unit.ranks, sharing, unit.dtype, unit.variants);
    for (const RuleSpec* rule : config_.rules)
      if (applies(*rule, *unit.variant->slot, unit.variant->device) && declared_for(*rule, unit.variant->info.flags))
        state->rules.push_back(rule);
  }
  return *state;
}

void Examiner::record(const Unit& unit, UnitState& state, const Observation& seen, double ms) {
  TrialRecord line;
  line.subject = subject_of(unit);
  line.drive = name_of(seen.trial.part.drive);
  line.trial_digest = digest(seen.trial).substr(0, 16);
  line.milliseconds = ms;
  auto& kept = state.seen[describe(seen.trial.part.cases.front())];
  const bool ends_all = seen.trial.part.drive == Drive::eager && seen.fault && seen.fault->verdict == Verdict::fail;
  const bool ended = seen.fault ? seen.fault->verdict == Verdict::fail
                                : seen.failed_op && failed_step(seen).verdict == Verdict::fail;
  for (const RuleSpec* rule : state.rules) {
    // A call that cannot even be made plainly fails whatever would be asked of it next.
    if (!reads(*rule, seen.trial.part.drive) && !ends_all) continue;
    if (seen.trial.part.cases.front().padded && !rule->on_padded_outputs) continue;
    Judgement j = judge(*rule, seen);
    line.judgements.emplace_back(rule->id, j.verdict);
    if (j.verdict != Verdict::not_applicable) state.informed[rule->id] |= j.evidence;
    if (!j.warning.empty()) state.warnings[rule->id].push_back(j.warning);
    if (j.verdict == Verdict::fail && !state.failing.count(rule->id)) {
      std::vector<TrialPart> history = bench_.history();
      if (!history.empty() && history.back() == seen.trial.part) history.pop_back();
      state.failing[rule->id] = {seen.trial, j, std::move(history), state.observed + state.boundaries, cell_maps_of(seen, j)};
    }
    const auto rank = [](const Judgement& x) {
      return x.verdict == Verdict::fail ? 4 : x.verdict == Verdict::no_decision ? 3 : x.verdict == Verdict::pass ? 2 : 1;
    };
    auto [at, fresh] = kept.try_emplace(rule->id, Kept{j});
    if (!fresh && rank(j) > rank(at->second.judgement)) {
      j.evidence = j.evidence || at->second.judgement.evidence;
      at->second = Kept{std::move(j)};
    } else if (!fresh) {
      at->second.judgement.evidence = at->second.judgement.evidence || j.evidence;
    }
  }
  if (!seen.trial.part.cases.front().padded) {
    const auto drive = static_cast<std::size_t>(seen.trial.part.drive);
    state.ended_in_row[drive] = ended ? state.ended_in_row[drive] + 1 : 0;
    state.ended[drive] = state.ended[drive] || ended;
  }
  writer_.line(to_json(line));
}

// What one variant left in its process is not another's to answer for.
void Examiner::take_up(const Unit& unit) {
  if (taken_up_ && taken_up_ != unit.variant) bench_.retire_worker();
  taken_up_ = unit.variant;
  bench_.use(*unit.variant->slot, unit.variant->info);
}

// Where drives have no turns, a rule that was asked and that no case was informative for has its drives again.
bool Examiner::owes(const UnitState& state, Drive drive) {
  if (state.effort.turn_every > 0 || drive == Drive::one_rank || drive == Drive::endurance) return false;
  return std::any_of(state.rules.begin(), state.rules.end(), [&](const RuleSpec* rule) {
    const auto asked = state.informed.find(rule->id);
    return reads(*rule, drive) && asked != state.informed.end() && !asked->second;
  });
}

void Examiner::observe_case(const Unit& unit, UnitState& state, const Case& c) {
  take_up(unit);
  // An empty call takes no full one's place among those that go through every drive.
  const std::int64_t place = state.full + (unit.variant->slot->output_cells(c) == 0);
  for (std::size_t d = 0; d < kDrives; ++d) {
    const Drive drive = static_cast<Drive>(d);
    // Nobody left to read it: not asked for, or all its readers have failed already.
    if (std::none_of(state.rules.begin(), state.rules.end(), [&](const RuleSpec* rule) {
          return reads(*rule, drive) && !state.failing.count(rule->id);
        }))
      continue;
    if (state.ended_in_row[d] >= kMostEnded) continue;  // a rule that excuses such an end will not hear more
    if (captures(drive) && !unit.variant->info.graph_safe()) continue;
    if (c.padded && drive != Drive::eager) continue;
    if (!due(state.effort, drive, state.observed, place) && !owes(state, drive)) continue;
    if (drive == Drive::routed && (++state.routed > kRoutedCases || !unit.variant->info.routing)) continue;
    Trial trial;
    trial.variant = unit.variant->info.id;
    trial.device = unit.variant->device;
    trial.part.drive = drive;
    trial.part.cases.push_back(c);
    if (cases_of(drive) == 2) {
      Case second = companion(*unit.variant->slot, c, drive, config_.tier);
      if (drive != Drive::routed && !inside(unit, second, captures(drive))) {
        second = c;  // the companion left the domain: the same sizes with other values
        second.seed = derive_key(c.seed, "companion in domain") >> 16;
      }
      trial.part.cases.push_back(std::move(second));
    }
    if (!fits(*unit.variant->slot, trial.part)) continue;
    if (drive == Drive::endurance && ++state.endured > kEnduranceCases) continue;
    const auto start = Clock::now();
    const Observation seen = observe_patiently(bench_, trial, config_.tier, wary_);
    record(unit, state, seen, 1e3 * seconds_since(start));
    if (drive == Drive::eager && seen.fault && seen.fault->verdict == Verdict::fail) return;
  }
}

bool Examiner::inside(const Unit& unit, const Case& c, bool captured) const {
  return applicable(*unit.variant, descriptor_of(*unit.variant->slot, c, config_.architecture, captured)).accepted();
}

BoundaryQuestion Examiner::question_of(const Unit& unit) const {
  const std::uint64_t seed = derive_key(config_.seed, unit.variant->info.id);
  return {*unit.variant->slot, unit.variant->domain, config_.architecture, unit.dtype, unit.ranks, config_.tier, seed};
}

// Both sides of every boundary of the domain, through the router alone.
void Examiner::observe_boundaries(const Unit& unit, UnitState& state) {
  const auto routes = [](const RuleSpec* rule) { return reads(*rule, Drive::routed); };
  if (!unit.variant->info.routing || std::none_of(state.rules.begin(), state.rules.end(), routes)) return;
  const Boundaries found = boundaries_of(question_of(unit));
  take_up(unit);
  for (const auto& [in, out] : found.pairs) {
    if (++state.boundaries % unit.parts != unit.part) continue;
    if (state.ended_in_row[static_cast<std::size_t>(Drive::routed)] >= kMostEnded) continue;
    const Trial trial{unit.variant->info.id, unit.variant->device, {}, {Drive::routed, {in, out}}};
    const auto start = Clock::now();
    record(unit, state, observe_patiently(bench_, trial, config_.tier, wary_), 1e3 * seconds_since(start));
  }
  for (const std::string& end : found.beyond)
    state.warnings["route.domain"].push_back("the domain ends at " + end + ", where no case of the tier reaches");
}

// Drawn once, for all rules.
void Examiner::draw_cases(const Unit& unit, UnitState& state) const {
  const BoundaryQuestion question = question_of(unit);
  const PropertyResult all = for_all_cases(
      *unit.variant->slot, unit.dtype, config_.tier, question.seed,
      [&](const Case& c) {
        Case on_ranks = c;
        on_ranks.world = unit.ranks;
        std::string key = describe(on_ranks);
        state.cases.emplace_back(std::move(key), std::move(on_ranks));
        return true;
      },
      // Outside the variant's domain a case is moved in by its dims and knobs, where those suffice: a variant of a few
      // sizes or of one quantised form would else meet few cases.
      [&](Case& c) {
        c.world = unit.ranks;
        if (!inside(unit, c, false)) (void)move_inside(question, c);
      });
  state.undrawn = all.error;
}

// False: the rule fails on this case.
bool Examiner::consider(const Unit& unit, UnitState& state, const std::string& key, const Case& c, const RuleSpec& rule) {
  auto known = state.seen.find(key);
  if (known == state.seen.end()) {
    if (!tried_of(state.effort, ++state.drawn)) {
      state.seen[key];
      return true;
    }
    ++state.distinct;
    const Match m = applicable(*unit.variant, descriptor_of(*unit.variant->slot, c, config_.architecture, false));
    if (!m.accepted()) {
      ++state.outside;
      state.outside_by_words += std::any_of(m.mismatches.begin(), m.mismatches.end(), [](const Mismatch& x) {
        return kind_of_field(x.field) == FieldKind::context || x.field == "world_size" || x.field == "tp_size";
      });
      state.seen[key];
      return true;
    }
    count_case(state.tried, c);
    state.full += unit.variant->slot->output_cells(c) > 0;
    if (++state.observed % unit.parts != unit.part) {
      state.seen[key];
      return true;
    }
    observe_case(unit, state, c);
    known = state.seen.find(key);
    if (known == state.seen.end()) return true;
  }
  const auto kept = known->second.find(rule.id);
  return kept == known->second.end() || kept->second.judgement.verdict != Verdict::fail;
}

std::vector<std::string> corpus_files(const std::string& folder) {
  std::vector<std::string> files;
  if (folder.empty() || !std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Trial> Examiner::corpus_of(const Unit& unit) {
  std::vector<Trial> trials;
  for (const std::string& path : corpus_files(config_.corpus)) {
    Trial t = read_trial(path);
    const Case& c = t.part.cases.front();
    if (c.slot != unit.variant->slot->id || c.dtype != unit.dtype || t.device != unit.variant->device ||
        c.world != unit.ranks)
      continue;
    t.variant = unit.variant->info.id;
    trials.push_back(std::move(t));
  }
  return trials;
}

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
    take_up(unit);
    for (const Trial& t : unit.part == 0 ? corpus_of(unit) : std::vector<Trial>{}) {
      const auto start = Clock::now();
      record(unit, state, observe_patiently(bench_, t, config_.tier, wary_), 1e3 * seconds_since(start));
    }
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
    if (kept == rules.end() || kept->second.judgement.verdict == Verdict::not_applicable) continue;
    ++result.judged;
    result.evidence += kept->second.judgement.evidence;
    if (kept->second.judgement.verdict == Verdict::no_decision) undecided = kept->second.judgement.text;
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
