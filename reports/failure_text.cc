#include "reports/failure_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <string_view>

#include "reports/lines.hpp"

namespace assay {
namespace {

constexpr std::size_t kCellsShown = 8;
constexpr std::size_t kOutputLines = 12;

using Group = std::vector<FailureRecord>;

bool same_place(const FailureRecord& a, const FailureRecord& b) {
  return a.subject.slot == b.subject.slot && a.subject.variant == b.subject.variant &&
         a.subject.device == b.subject.device && a.reason == b.reason;
}

bool same_trial(const FailureRecord& a, const FailureRecord& b) {
  return same_place(a, b) && a.subject.dtype == b.subject.dtype && a.trial == b.trial && a.trial_text == b.trial_text;
}

std::set<std::string> rules_of(const Group& group) {
  std::set<std::string> rules;
  for (const FailureRecord& failure : group) rules.insert(failure.subject.rule);
  return rules;
}

template <class Field>
std::string joined(const Group& group, Field field, std::size_t from = 0) {
  std::vector<std::string> seen;
  for (std::size_t i = from; i < group.size(); ++i) {
    std::string value = printable(field(group[i]));
    if (!value.empty() && std::ranges::find(seen, value) == seen.end()) seen.push_back(std::move(value));
  }
  std::string text;
  for (const std::string& value : seen) text += (text.empty() ? "" : ", ") + value;
  return text;
}

std::string title_of(const Group& group, bool colour) {
  const FailureRecord& first = group.front();
  const Verdict verdict = verdict_of(first.reason);
  const std::string rules = joined(group, [](const FailureRecord& f) { return f.subject.rule; });
  const std::string said = std::string(name_of(verdict)) + " (" + std::string(name_of(first.reason)) + ")";
  const std::string slot = first.subject.slot.empty() ? "(library)" : printable(first.subject.slot);
  return painted(slot, Paint::strong, colour) + "  " + rules + "  " +
         painted(said, fails_run(verdict) ? Paint::bad : Paint::doubt, colour) + '\n';
}

std::string trial_of(const FailureRecord& f) {
  std::string out;
  if (!f.trial_text.empty()) out += wrapped("  trial: ", printable(f.trial_text));
  std::array<char, 160> counts{};
  std::snprintf(counts.data(), counts.size(), "%s, %lld shrink runs in %.1f s; caught after %lld cases",
                f.minimal ? "minimal" : "smallest found, not minimal", static_cast<long long>(f.shrink_runs),
                f.seconds_until_shrunk, static_cast<long long>(f.cases_until_caught));
  std::string how = counts.data();
  if (!f.confirmed.empty()) how += "; confirmed: " + printable(f.confirmed);
  return out + wrapped("         ", how);
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

// What one rule found: sentence, worst cells with their pattern, bound.
std::string finding_of(const FailureRecord& f) {
  std::string text = printable(f.text);
  if (!f.label.empty()) text += " (in: " + printable(f.label) + ")";
  std::string out = wrapped("  " + printable(f.subject.rule) + ": ", text);
  if (!f.worst.empty() || !f.pattern.empty()) out += wrapped("  worst cells: ", printable(f.pattern));
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
                                              std::to_string(run.seed) + ", " + run.isolation));
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

std::string failure_text(const Group& group, const RunRecord& run, bool colour) {
  const FailureRecord& first = group.front();
  Group own;  // of the first dtype: the others repeat it
  for (const FailureRecord& f : group) {
    if (f.subject.dtype == first.subject.dtype) own.push_back(f);
  }
  std::string out = title_of(group, colour);
  const auto with_replay = std::ranges::find_if(own, [](const FailureRecord& f) { return !f.replay.empty(); });
  // Never wrapped: it is there to be copied.
  out += "  replay: " +
         (with_replay == own.end() ? "no command; the trial is in the results" : printable(with_replay->replay)) + '\n';
  const Subject& s = first.subject;
  std::string variant = printable(s.variant);
  if (!s.device.empty()) variant += (variant.empty() ? "" : " on ") + printable(s.device);
  if (!s.dtype.empty()) variant += (variant.empty() ? "" : ", ") + printable(s.dtype);
  const std::string others = joined(
      group, [](const FailureRecord& f) { return f.subject.dtype; }, own.size());
  if (!others.empty()) variant += "; also: " + others;
  out += trial_of(first);
  if (!variant.empty()) out += wrapped("  variant: ", variant);
  for (const FailureRecord& f : own) out += finding_of(f);
  return out + versions_of(run, s) + output_of(own, colour);
}

}  // namespace assay
