// examiner_trials.cc: which trials a unit makes, and what each tells the rules that read its drive.
#include <filesystem>

#include "assay/property.hpp"
#include "conformance/examiner_state.hpp"
#include "conformance/patience.hpp"
#include "harness/case/digest.hpp"
#include "harness/case/json.hpp"
#include "harness/drive/cell_map_of.hpp"
#include "harness/drive/drives.hpp"

namespace assay {
namespace {

constexpr int kRoutedCases = 6;  // drawn ones; the boundaries of a domain have trials of their own
constexpr int kEnduranceCases = 1;  // of very many calls; in each part of a unit
constexpr int kMostEnded = 3;  // trials of a drive in a row that the candidate ends: each may cost a fresh worker

}  // namespace

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
    auto [at, fresh] = kept.try_emplace(rule->id, j);
    if (!fresh && rank(j) > rank(at->second)) {
      j.evidence = j.evidence || at->second.evidence;
      at->second = std::move(j);
    } else if (!fresh) {
      at->second.evidence = at->second.evidence || j.evidence;
    }
  }
  if (!seen.trial.part.cases.front().padded) {
    const auto drive = static_cast<std::size_t>(seen.trial.part.drive);
    state.ended_in_row[drive] = ended ? state.ended_in_row[drive] + 1 : 0;
    state.ended[drive] = state.ended[drive] || ended;
  }
  writer_.line(to_json(line));
}

Observation Examiner::observe_trial(const Unit& unit, UnitState& state, const Trial& trial) {
  const auto start = std::chrono::steady_clock::now();
  Observation seen = observe_patiently(bench_, trial, config_.tier, wary_);
  record(unit, state, seen, 1e3 * seconds_since(start));
  return seen;
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
    const Observation seen = observe_trial(unit, state, trial);
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
    (void)observe_trial(unit, state, trial);
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
  return kept == known->second.end() || kept->second.verdict != Verdict::fail;
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

void Examiner::observe_corpus(const Unit& unit, UnitState& state) {
  if (unit.part != 0) return;
  take_up(unit);
  for (const Trial& t : corpus_of(unit)) (void)observe_trial(unit, state, t);
}

}  // namespace assay
