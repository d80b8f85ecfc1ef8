#include "reports/failure_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <string_view>

#include "reports/lines.hpp"

namespace assay {
namespace {

constexpr std::size_t kRulesInTitle = 3;
constexpr std::size_t kCellsShown = 8;
constexpr std::size_t kOutputLines = 12;

using Group = std::vector<FailureRecord>;

bool same_place(const FailureRecord& a, const FailureRecord& b) {
  return a.subject.slot == b.subject.slot && a.subject.variant == b.subject.variant &&
         a.subject.device == b.subject.device && a.subject.ranks == b.subject.ranks && a.reason == b.reason;
}

bool same_trial(const FailureRecord& a, const FailureRecord& b) {
  return same_place(a, b) && a.subject.dtype == b.subject.dtype && a.trial == b.trial && a.trial_text == b.trial_text;
}

std::set<std::string> rules_of(const Group& group) {
  std::set<std::string> rules;
  for (const FailureRecord& failure : group) rules.insert(failure.subject.rule);
  return rules;
}

void add_new(std::vector<std::string>& names, const std::string& name) {
  std::string text = printable(name);
  if (!text.empty() && std::ranges::find(names, text) == names.end()) names.push_back(std::move(text));
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kRulesInTitle); ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > kRulesInTitle) text += " and " + std::to_string(names.size() - kRulesInTitle) + " more";
  return text;
}

std::string title_of(const FailureRecord& first, const std::vector<std::string>& rules, bool colour) {
  const Verdict verdict = verdict_of(first.reason);
  const std::string said = std::string(name_of(verdict)) + " (" + std::string(name_of(first.reason)) + ")";
  const std::string slot = first.subject.slot.empty() ? "(library)" : printable(first.subject.slot);
  return painted(slot, Paint::strong, colour) + "  " + some_of(rules) + "  " +
         painted(said, fails_run(verdict) ? Paint::bad : Paint::doubt, colour) + '\n';
}

std::string trial_of(const FailureRecord& f) {
  std::string out;
  if (!f.trial_text.empty()) out += wrapped("  trial: ", printable(f.trial_text));
  std::array<char, 160> counts{};
  std::snprintf(counts.data(), counts.size(), "%s, %lld shrink runs in %.1f s; caught after %lld cases",
                f.minimal ? "minimal" : "smallest found, not minimal", static_cast<long long>(f.shrink_runs),
                f.seconds_until_shrunk, static_cast<long long>(f.cases_until_caught));
  out += wrapped("         ", counts.data());
  if (!f.confirmed.empty()) out += wrapped("         confirmation: ", printable(f.confirmed));
  return out;
}

std::string cells_of(const FailureRecord& f) {
  const std::array<const char*, 4> keys{"where", "actual", "expected", "bound"};
  std::array<std::size_t, 4> widths{};
  std::vector<std::array<std::string, 4>> rows{{"cell", "actual", "expected", "bound"}};
  for (std::size_t i = 0; i < std::min(f.worst.size(), kCellsShown); ++i) {
    std::array<std::string, 4> row;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      row[k] = shortened(printable(f.worst[i].at(keys[k]).get_ref<const std::string&>()), k == 0 ? 32 : 26);
    }
    rows.push_back(std::move(row));
  }
  for (const auto& row : rows) {
    for (std::size_t k = 0; k < keys.size(); ++k) widths[k] = std::max(widths[k], columns_of(row[k]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line = "   ";
    for (std::size_t k = 0; k < keys.size(); ++k) line += " " + padded(row[k], widths[k] + 1);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  if (f.worst.size() > kCellsShown) out += "    and " + std::to_string(f.worst.size() - kCellsShown) + " more\n";
  return out;
}

// What was found: sentence, worst cells with their pattern, bound.
std::string finding_of(const FailureRecord& f, const std::string& rules) {
  std::string text = printable(f.text);
  if (!f.label.empty()) text += " (in: " + printable(f.label) + ")";
  std::string out = wrapped("  what: ", rules.empty() ? text : rules + ": " + text);
  if (!f.worst.empty() || !f.pattern.empty()) {
    out += wrapped(f.worst.empty() ? "  where: " : "  worst cells: ", printable(f.pattern));
  }
  if (!f.worst.empty()) out += cells_of(f);
  if (!f.bound.empty()) out += wrapped("  bound: ", printable(f.bound));
  return out;
}

std::string versions_of(const RunRecord& run, const Subject& subject) {
  std::string out;
  if (!subject.device.empty()) out += wrapped("  device: ", printable(described_device(run.devices, subject.device)));
  out += wrapped("  library: ", printable(run.library_name + " " + run.library_version + ", " + run.library +
                                          ", sha256 " + run.library_sha256.substr(0, 16)));
  return out + wrapped("  assay: ", printable(run.assay_version + ", tier " + run.tier + ", seed " +
                                              std::to_string(run.seed) + ", " +
                                              run.isolation.substr(0, run.isolation.find(':'))));
}

std::string output_of(const Group& group, bool colour) {
  std::string_view text;
  for (const FailureRecord& f : group) {
    if (text.empty()) text = f.worker_output;
  }
  if (text.empty()) return {};
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(shortened(printable(text.substr(0, end)), report_columns - 6));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  std::string out = "  the worker printed (shown, never judged):\n";
  const std::size_t left_out = lines.size() > kOutputLines ? lines.size() - kOutputLines : 0;
  if (left_out) out += "    ... " + std::to_string(left_out) + " earlier lines\n";
  for (std::size_t i = left_out; i < lines.size(); ++i)
    out += "    " + painted("| " + lines[i], Paint::faint, colour) + '\n';
  return out;
}

}  // namespace

std::vector<Group> grouped(const RunResults& results) {
  std::vector<Group> by_trial;
  for (const FailureRecord& failure : results.failures) {
    const auto at = std::ranges::find_if(by_trial, [&](const Group& g) { return same_trial(g.front(), failure); });
    if (at == by_trial.end()) {
      by_trial.push_back({failure});
    } else {
      at->push_back(failure);
    }
  }
  std::vector<Group> out;
  for (Group& group : by_trial) {
    const auto at = std::ranges::find_if(out, [&](const Group& g) {
      const bool new_dtype = std::ranges::none_of(
          g, [&](const FailureRecord& f) { return f.subject.dtype == group.front().subject.dtype; });
      return new_dtype && same_place(g.front(), group.front()) && rules_of(g) == rules_of(group);
    });
    if (at == out.end()) {
      out.push_back(std::move(group));
    } else {
      at->insert(at->end(), group.begin(), group.end());
    }
  }
  return out;
}

std::vector<Finding> findings_of(const Group& group) {
  std::vector<Finding> findings;
  for (const FailureRecord& f : group) {
    if (f.subject.dtype != group.front().subject.dtype) continue;
    auto at = std::ranges::find_if(findings, [&](const Finding& other) {
      const FailureRecord& o = *other.failure;
      return o.text == f.text && o.label == f.label && o.pattern == f.pattern && o.bound == f.bound &&
             o.worst == f.worst;
    });
    if (at == findings.end()) {
      findings.push_back({&f, {}});
      at = findings.end() - 1;
    }
    add_new(at->rules, f.subject.rule);
  }
  return findings;
}

std::string failure_text(const Group& group, const RunRecord& run, bool colour) {
  const FailureRecord& first = group.front();
  Group own;  // of the first dtype: the others repeat it
  for (const FailureRecord& f : group) {
    if (f.subject.dtype == first.subject.dtype) own.push_back(f);
  }
  std::vector<std::string> rules;
  std::vector<std::string> others;
  for (const FailureRecord& f : group) {
    if (f.subject.dtype == first.subject.dtype) add_new(rules, f.subject.rule);
    if (f.subject.dtype != first.subject.dtype) add_new(others, f.subject.dtype);
  }
  const auto with_replay = std::ranges::find_if(own, [](const FailureRecord& f) { return !f.replay.empty(); });
  std::string out = title_of(first, rules, colour);
  // Never wrapped: it is there to be copied.
  out += "  replay: ";
  out += with_replay == own.end() ? "no command; the trial is in the results" : printable(with_replay->replay);
  out += '\n' + trial_of(first);
  std::string variant = printable(first.subject.variant);
  if (!first.subject.device.empty()) variant += (variant.empty() ? "on " : " on ") + printable(first.subject.device);
  if (!first.subject.dtype.empty()) variant += (variant.empty() ? "" : ", ") + printable(first.subject.dtype);
  if (first.subject.ranks > 1) variant += ", " + std::to_string(first.subject.ranks) + " ranks";
  if (!others.empty()) variant += "; also: " + joined(others);
  if (!variant.empty()) out += wrapped("  variant: ", variant);
  if (rules.size() > kRulesInTitle) out += wrapped("  rules: ", joined(rules));
  // A crash fails many rules with one and the same finding: it is printed once.
  const std::vector<Finding> findings = findings_of(group);
  for (const Finding& f : findings) out += finding_of(*f.failure, findings.size() > 1 ? some_of(f.rules) : "");
  return out + versions_of(run, first.subject) + output_of(own, colour);
}

}  // namespace assay
