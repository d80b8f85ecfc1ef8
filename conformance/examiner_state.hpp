// examiner_state.hpp: what the examiner knows of a unit while its rules are asked.
//
// Who uses it: examiner.cc, examiner_trials.cc, examiner_failure.cc.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "conformance/examiner.hpp"
#include "conformance/tried_cases.hpp"
#include "harness/shrink/driver.hpp"

namespace assay {

struct Examiner::Finding {
  Trial trial;
  Judgement judgement;
  std::vector<TrialPart> history;   // of the worker that it happened in
  std::int64_t cases_until_caught = 0;
  std::vector<CellMap> maps;        // as caught: the shrunk trial may be too small to show a pattern
};

struct Examiner::UnitState {
  std::vector<const RuleSpec*> rules;                       // that apply and whose flags fit
  std::unordered_map<std::string, std::map<std::string, Judgement>> seen;  // case -> rule -> worst
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

inline bool reads(const RuleSpec& rule, Drive drive) {
  return std::find(rule.drives.begin(), rule.drives.end(), drive) != rule.drives.end();
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace assay
