#include <algorithm>
#include <array>
#include <cstdio>

#include "reports/cell_picture.hpp"
#include "reports/outcomes.hpp"
#include "reports/page_parts.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr std::size_t kMostTrialText = 16384;  // bytes of a trial's JSON; a longer one is in its file

std::string shrunk_text(const FailureRecord& f) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), "%s, %lld shrink runs in %.1f s; caught after %lld cases",
                f.minimal ? "minimal" : "smallest found, not minimal", static_cast<long long>(f.shrink_runs),
                f.seconds_until_shrunk, static_cast<long long>(f.cases_until_caught));
  return text.data();
}

std::string trial_json(const FailureRecord& f) {
  if (f.trial.is_null()) return {};
  constexpr int indent = 1;
  std::string text = f.trial.dump(indent, ' ', false, json::error_handler_t::replace);
  if (text.size() > kMostTrialText) return std::to_string(text.size()) + " bytes: see the file, or the results";
  return text;
}

json finding_part(const Finding& finding, bool one_of_several) {
  const FailureRecord& f = *finding.failure;
  json worst = json::array();
  for (const json& cell : f.worst) worst.push_back(cell);
  json maps = json::array();
  const bool ranks = std::ranges::any_of(f.maps, [&](const CellMap& map) { return map.rank != f.maps.front().rank; });
  for (const CellMap& map : f.maps) maps.push_back(cell_picture(map, ranks));
  return {{"of_rules", one_of_several ? joined(finding.rules) : ""},
          {"text", f.text},
          {"label", f.label},
          {"pattern", f.pattern},
          {"has_maps", !f.maps.empty()},
          {"maps", std::move(maps)},
          {"marks", marks_in(f.maps)},
          {"has_worst", !f.worst.empty()},
          {"worst", std::move(worst)},
          {"bound", f.bound}};
}

// Of a group that an earlier run may have had, too: the same rule at the same place.
std::string novelty_of(const std::vector<FailureRecord>& group, const RunResults& before) {
  const auto known = [&](const FailureRecord& f) {
    return std::ranges::any_of(before.failures, [&](const FailureRecord& old) { return old.subject == f.subject; });
  };
  const auto count = std::ranges::count_if(group, known);
  if (count == 0) return "new since the earlier run";
  return count == static_cast<std::ptrdiff_t>(group.size()) ? "in both runs" : "partly in the earlier run";
}

json failure_part(const std::vector<FailureRecord>& group, std::size_t number, const RunResults* before) {
  const FailureRecord& first = group.front();
  std::vector<std::string> rules, others;
  const FailureRecord* replayed = nullptr;
  std::string printed;
  for (const FailureRecord& f : group) {
    if (f.subject.dtype != first.subject.dtype) {
      add_new(others, f.subject.dtype);
      continue;
    }
    add_new(rules, f.subject.rule);
    if (!replayed && !f.replay.empty()) replayed = &f;
    if (printed.empty()) printed = f.worker_output;
  }
  std::string variant = variant_name(first.subject);
  if (!first.subject.dtype.empty()) variant += (variant.empty() ? "" : ", ") + first.subject.dtype;
  if (!others.empty()) variant += "; also " + joined(others);
  json findings = json::array();
  const std::vector<Finding> found = findings_of(group);
  for (const Finding& finding : found) findings.push_back(finding_part(finding, found.size() > 1));
  return {{"id", failure_id(number)},
          {"number", number + 1},
          {"slot", slot_name(first.subject)},
          {"rules", joined(rules)},
          {"verdict", name_of(verdict_of(first.reason))},
          {"reason", name_of(first.reason)},
          {"novelty", before ? novelty_of(group, *before) : ""},
          {"replay", replayed ? replayed->replay : ""},
          {"trial", first.trial_text},
          {"shrunk", shrunk_text(first)},
          {"confirmed", first.confirmed},
          {"variant", variant},
          {"text", first.text},
          {"pattern", first.pattern},
          {"findings", std::move(findings)},
          {"worker_output", printed},
          {"trial_json", trial_json(first)},
          {"trial_file", first.trial_file}};
}

}  // namespace

std::string failure_id(std::size_t group) { return "failure-" + std::to_string(group + 1); }

std::string failure_id_of(const Groups& groups, const Subject& wanted) {
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (const FailureRecord& f : groups[i]) {
      Subject subject = f.subject;
      subject.dtype = wanted.dtype;
      if (subject == wanted) return failure_id(i);
    }
  return {};
}

json failures_part(const Groups& groups, const RunResults* before) {
  json list = json::array();
  for (std::size_t i = 0; i < groups.size(); ++i) list.push_back(failure_part(groups[i], i, before));
  return list;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
}

}  // namespace assay
