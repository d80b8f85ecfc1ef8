// reports/page.hpp: a run as one HTML page that needs nothing else, and as Markdown for the page of a CI job.
//
// Promises: says what the records say and nothing else; the verdict is conclude()'s. No script, no address, nothing
// loaded; text of a candidate's stays text (render.hpp). Light and dark, for keyboards and screen readers; nothing is
// told by colour alone. With an earlier run: what changed, and its figures beside this run's.
// Throws std::logic_error where this build has no template library (can_render).
// Who calls it: assay report.
//
//   file << html_page(read_results("assay-report/results.jsonl"));
#pragma once

#include <string>

#include "harness/result/records.hpp"

namespace assay {

struct EarlierRun {
  std::string path;  // shown
  RunResults results;
};

[[nodiscard]] std::string html_page(const RunResults&, const EarlierRun* before = nullptr);
// At most so many failures in full: a CI job's page holds 1 MiB.
inline constexpr std::size_t summarised_failures = 20;
[[nodiscard]] std::string markdown_summary(const RunResults&, const EarlierRun* before = nullptr);

}  // namespace assay
