#include "harness/result/parts.hpp"

#include <algorithm>
#include <tuple>

namespace assay {
namespace {

std::string key_of(const Subject& s) {
  return s.slot + "\n" + s.variant + "\n" + s.device + "\n" + s.dtype + "\n" + s.rule + "\n" + std::to_string(s.ranks);
}

// What a merged line takes its verdict from: the first of the most severe that some part says.
int weight(const RuleRecord& r) {
  if (r.verdict == Verdict::fail) return 5;
  if (r.verdict == Verdict::no_decision && r.reason != Reason::no_case) return 4;
  if (r.verdict == Verdict::not_applicable) return 0;
  if (r.verdict == Verdict::no_decision) return 1;  // this part met no case in the domain
  return r.verdict == Verdict::vacuous ? 2 : 3;
}

const FailureRecord& best(const std::vector<FailureRecord>& failures) {
  const auto rank = [](const FailureRecord& f) {
    return std::tuple(is_flaky(f), !f.minimal, f.trial_text.size(), f.trial_text);
  };
  return *std::ranges::min_element(failures, {}, rank);
}

}  // namespace

RuleRecord merged(const std::vector<RuleRecord>& parts) {
  const auto heaviest = std::ranges::max_element(parts, {}, weight);
  RuleRecord result = *heaviest;
  result.judged = result.evidence = 0;
  result.warnings.clear();
  for (const RuleRecord& part : parts) {
    result.judged += part.judged;
    result.evidence += part.evidence;
    result.warnings.insert(result.warnings.end(), part.warnings.begin(), part.warnings.end());
  }
  return result;
}

RunResults read_line(std::string_view line) {
  RunResults one;
  one.has_run = true;
  add_line(one, line);
  return one;
}

std::vector<std::string> PartMerger::take(std::string_view line) {
  // Quotes inside a text are escaped: only a key can look like this.
  if (parts_ == 1 || line.find("\"kind\":\"trial\"") != std::string_view::npos) return {std::string(line)};
  const RunResults one = read_line(line);
  std::vector<std::string> ready;
  if (!one.failures.empty()) {
    held_[key_of(one.failures.front().subject)].failures.push_back(one.failures.front());
  } else if (!one.rules.empty()) {
    const auto at = held_.try_emplace(key_of(one.rules.front().subject)).first;
    Held& held = at->second;
    held.rules.push_back(one.rules.front());
    if (static_cast<int>(held.rules.size()) < parts_) return {};
    RuleRecord rule = merged(held.rules);
    if (!held.failures.empty()) {
      const FailureRecord& failure = best(held.failures);
      ready.push_back(to_json(failure).dump());
      const bool flaky = is_flaky(failure);
      const auto sure = std::ranges::find_if(held.rules, [](const RuleRecord& r) {
        return r.verdict == Verdict::fail && r.reason != Reason::flaky;
      });
      // Parts that failed and left it to another to make their failure smaller stand by theirs.
      if (rule.verdict == Verdict::fail && flaky && sure != held.rules.end())
        std::tie(rule.reason, rule.text) = std::tie(sure->reason, sure->text);
      else if (rule.verdict == Verdict::fail)
        std::tie(rule.reason, rule.text) = std::tuple(flaky ? Reason::flaky : failure.reason, failure.text);
    }
    ready.push_back(to_json(rule).dump());
    held_.erase(at);
  } else if (!one.cases.empty()) {
    const auto at = held_.try_emplace(key_of(one.cases.front().subject)).first;
    Held& held = at->second;
    held.cases.push_back(one.cases.front());
    if (static_cast<int>(held.cases.size()) < parts_) return {};
    CasesRecord sum = held.cases.front();
    for (std::size_t i = 1; i < held.cases.size(); ++i) {
      sum.distinct += held.cases[i].distinct;
      sum.outside_domain += held.cases[i].outside_domain;
      if (sum.tried.empty()) sum.tried = held.cases[i].tried;
    }
    ready.push_back(to_json(sum).dump());
    held_.erase(at);
  } else {
    ready.emplace_back(line);
  }
  return ready;
}

std::vector<std::string> PartMerger::rest() {
  std::vector<std::string> lines;
  for (const auto& [key, held] : held_) {
    for (const FailureRecord& f : held.failures) lines.push_back(to_json(f).dump());
    if (!held.rules.empty()) {
      RuleRecord rule = merged(held.rules);
      // Some of its parts are missing: nothing but a failure is known.
      if (rule.verdict == Verdict::fail) lines.push_back(to_json(rule).dump());
    }
  }
  held_.clear();
  return lines;
}

}  // namespace assay
