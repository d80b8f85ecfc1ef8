#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "harness/case/json.hpp"
#include "harness/result/records.hpp"

namespace assay {
namespace {

// "2 rules failed: a, b"; one rule counts once, however many dtypes it failed for.
class RuleNames {
 public:
  void add(std::string name) {
    if (std::ranges::find(names_, name) == names_.end()) names_.push_back(std::move(name));
  }
  [[nodiscard]] bool empty() const noexcept { return names_.empty(); }
  [[nodiscard]] std::string sentence(const char* what) const {
    constexpr std::size_t shown_names = 4;
    std::string text = std::to_string(names_.size()) + (names_.size() == 1 ? " rule " : " rules ") + what + ": ";
    for (std::size_t i = 0; i < std::min(names_.size(), shown_names); ++i) text += (i ? ", " : "") + names_[i];
    if (names_.size() > shown_names) text += " and " + std::to_string(names_.size() - shown_names) + " more";
    return text;
  }

 private:
  std::vector<std::string> names_;
};

std::string with_reason(const std::string& rule, Reason reason) {
  return reason == Reason::none ? rule : rule + " (" + std::string(name_of(reason)) + ")";
}

// True where a rule line already says what its failure line says, or says why that does not count.
bool settled_by_rule_line(const RunResults& results, const FailureRecord& failure) {
  return std::ranges::any_of(results.rules, [&](const RuleRecord& rule) {
    const bool admits =
        rule.verdict == Verdict::fail || rule.verdict == Verdict::waived || rule.verdict == Verdict::no_decision;
    return admits && rule.subject == failure.subject;
  });
}

EndRecord end_with(ExitCode code, std::string why) {
  EndRecord end;
  end.verdict = code == ExitCode::pass ? "PASS" : code == ExitCode::fail ? "FAIL" : "NO_DECISION";
  end.exit_code = static_cast<int>(code);
  end.why = std::move(why);
  return end;
}

int severity(const EndRecord& end) { return end.verdict == "PASS" ? 0 : end.verdict == "FAIL" ? 2 : 1; }

bool is_json(std::string_view text) {
  try {
    (void)parse_strict(text, "results", results_line_limit);
    return true;
  } catch (const JsonError&) {
    return false;
  }
}

RunResults read_lines(std::istream& file, const std::string& name) {
  RunResults results;
  std::string line;
  for (std::int64_t number = 1; std::getline(file, line); ++number) {
    const bool cut_off = file.eof() && !is_json(line);
    if (cut_off) break;
    try {
      add_line(results, line);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(name + ", line " + std::to_string(number) + ": " + error.what());
    }
  }
  return results;
}

// What a gate asks beyond its rule lines: all rules; of each variant that it was to judge, a receipt that it ran and
// graphs that hold (the two evidence products that a check makes); and that a dtype in which nothing was judged is one that the variant's own domain excludes. Empty: nothing is lacking.
std::string lacking_in_gate(const RunResults& results) {
  const GateRecord& gate = *results.run.gate;
  if (gate.rules_left_out > 0)
    return std::to_string(gate.rules_left_out) + " rules were left out by --rule, and a gate judges all";
  using Place = std::tuple<std::string, std::string, std::string>;
  std::set<Place> ran, graphs;
  std::map<std::tuple<Place, std::string, std::int64_t>, bool> judged;  // of each unit
  for (const RuleRecord& rule : results.rules) {
    const Subject& s = rule.subject;
    if (s.dtype.empty()) continue;  // of the library, or of a whole variant
    const Place place{s.slot, s.variant, s.device};
    const bool holds = rule.verdict == Verdict::pass && rule.judged > 0;
    if (holds && s.rule == "receipt.fired") ran.insert(place);
    if (holds && s.rule.rfind("graph.", 0) == 0) graphs.insert(place);
    bool& some = judged[{place, s.dtype, s.ranks}];
    some = some || rule.judged > 0 || rule.reason == Reason::outside_domain;
  }
  for (const GateVariant& v : gate.variants) {
    const std::string who = v.slot + " " + v.variant + " on " + v.device;
    if (!ran.contains({v.slot, v.variant, v.device})) return "no receipt says that it ran: " + who;
    if (!graphs.contains({v.slot, v.variant, v.device})) return "no rule of graphs holds: " + who;
  }
  for (const auto& [unit, some] : judged) {
    const auto& [place, dtype, ranks] = unit;
    if (!some) return "no rule was judged on " + std::get<0>(place) + " " + std::get<1>(place) + " " + dtype;
  }
  return {};
}

}  // namespace

bool is_gate(const RunRecord& run) noexcept { return run.gate.has_value(); }

RunResults read_results(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  RunResults results = read_lines(file, path);
  if (file.bad()) throw std::runtime_error("cannot read " + path + " to its end");
  return results;
}

RunResults parse_results(std::string_view text, const std::string& name) {
  std::istringstream lines{std::string(text)};
  return read_lines(lines, name);
}

EndRecord end_of_rules(const RunResults& results) {
  RuleNames failed;
  RuleNames undecided;
  bool passed = false;
  for (const RuleRecord& rule : results.rules) {
    if (fails_run(rule.verdict) || (rule.verdict == Verdict::unexpected_pass && is_gate(results.run))) {
      failed.add(rule.subject.rule);
    } else if (undecides_run(rule.verdict) || (rule.verdict == Verdict::numerical_pass && is_gate(results.run))) {
      undecided.add(with_reason(rule.subject.rule, rule.reason));
    } else if (passes_run(rule.verdict) && rule.judged == 0) {
      undecided.add(with_reason(rule.subject.rule, Reason::no_case));
    } else if (passes_run(rule.verdict)) {
      passed = true;
    }
  }
  for (const FailureRecord& failure : results.failures) {
    if (settled_by_rule_line(results, failure)) continue;
    if (fails_run(verdict_of(failure.reason))) {
      failed.add(failure.subject.rule);
    } else {
      undecided.add(with_reason(failure.subject.rule, failure.reason));
    }
  }
  if (!failed.empty()) return end_with(ExitCode::fail, failed.sentence("failed"));
  if (!undecided.empty()) return end_with(ExitCode::no_decision, undecided.sentence("decided nothing"));
  if (!passed) return end_with(ExitCode::no_decision, "no rule was judged");
  return end_with(ExitCode::pass, {});
}

EndRecord end_for(const RunResults& results) {
  EndRecord end = end_of_rules(results);
  if (end.verdict != "PASS" || !is_gate(results.run)) return end;
  const std::string lack = lacking_in_gate(results);
  return lack.empty() ? end : end_with(ExitCode::no_decision, lack);
}

EndRecord conclude(const RunResults& results) {
  if (!results.has_run) return end_with(ExitCode::no_decision, "the results hold no run");
  EndRecord lines = end_for(results);
  if (!results.has_end) {
    std::string why = "the run did not end: no end line after " + std::to_string(results.trials) + " trials";
    if (lines.verdict == "FAIL") why += "; until then " + lines.why;
    return end_with(ExitCode::no_decision, why);
  }
  if (severity(results.end) >= severity(lines)) return results.end;
  lines.seconds = results.end.seconds;
  lines.why = "the end line says " + results.end.verdict + ", but " + lines.why;
  return lines;
}

}  // namespace assay
