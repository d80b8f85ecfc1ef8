#include "conformance/fault_matrix/detection_table.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

namespace assay {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string number(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

Medians medians_of(const std::vector<Detection>& detections) {
  Medians m;
  std::vector<double> cases, caught, shrunk;
  for (const Detection& d : detections) {
    if (!d.caught()) continue;
    ++m.caught;
    cases.push_back(static_cast<double>(d.cases_until_caught));
    caught.push_back(d.seconds_until_caught);
    shrunk.push_back(d.seconds_until_shrunk);
    m.most_seconds = std::max(m.most_seconds, d.seconds_until_shrunk);
  }
  m.cases = median(std::move(cases));
  m.seconds_until_caught = median(std::move(caught));
  m.seconds_until_shrunk = median(std::move(shrunk));
  return m;
}

std::string text_line(const Detection& d) {
  char head[128];
  std::snprintf(head, sizeof head, "%-6s %-30s %-28s", d.caught() ? "caught" : "MISSED", d.stem.c_str(),
                d.rule.c_str());
  if (!d.caught() && d.trial.empty()) return std::string(head) + " " + d.miss;
  return std::string(head) + " " + d.dtype + (d.dtype.empty() ? "" : " ") + d.reason + ", case " +
         std::to_string(d.cases_until_caught) + ", " + number(d.seconds_until_caught, 2) + " s, shrunk at " +
         number(d.seconds_until_shrunk, 2) + " s (" + std::to_string(d.shrink_runs) + " runs" +
         (d.minimal ? "" : ", budget spent") + "), " + d.confirmed + "\n         " + d.trial +
         (d.caught() ? "" : "\n         " + d.miss);
}

std::string summary_line(const std::vector<Detection>& detections) {
  const Medians m = medians_of(detections);
  std::set<std::string> faults;  // one that two rules must catch has two detections
  for (const Detection& d : detections) faults.insert(d.stem);
  return std::to_string(faults.size()) + " faults, " + std::to_string(m.caught) + " of " +
         std::to_string(detections.size()) + " demanded detections; median " + number(m.cases, 0) + " cases and " +
         number(m.seconds_until_caught, 2) + " s until caught, " + number(m.seconds_until_shrunk, 2) +
         " s until the smallest counterexample was confirmed, slowest " + number(m.most_seconds, 2) + " s";
}

std::string markdown_page(const std::vector<Detection>& detections, const std::string& what) {
  std::string page =
      "# Detection of planted faults\n\n" + what + "\n\n" + summary_line(detections) +
      ".\n\nEach fault meets the drives of its named rule only. Seconds count from the start of the load; dtypes in "
      "which the rule held are included. A trial marked * is the smallest found when the shrink budget ended, not "
      "proven minimal.\n\n"
      "| fault | caught by | reason | dtype | cases | s until caught | s until shrunk | runs | smallest "
      "trial | confirmed by |\n|---|---|---|---|---:|---:|---:|---:|---|---|\n";
  for (const Detection& d : detections) {
    if (!d.caught()) {
      page += "| `" + d.stem + "` | **missed** by `" + d.rule + "` | " + cell(d.miss) + " | | | | | | " +
              cell(d.trial) + " | |\n";
      continue;
    }
    page += "| `" + d.stem + "` | `" + d.rule + "` | " + d.reason + " | " + d.dtype + " | " +
            std::to_string(d.cases_until_caught) + " | " + number(d.seconds_until_caught, 2) + " | " +
            number(d.seconds_until_shrunk, 2) + " | " + std::to_string(d.shrink_runs) + " | " + cell(d.trial) +
            (d.minimal ? "" : " *") + " | " + d.confirmed + " |\n";
  }
  return page;
}

}  // namespace assay
