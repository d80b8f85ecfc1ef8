// reports/table.hpp: a run at a glance, slot by rule group.
//
// Promises: one row a slot, variant and device, one column a group of rules, at most 100 columns; what is not a plain
// pass is named with its reason below; the last line is the run's verdict (conclude) with its exit code. A rule counts
// once, with its worst verdict over the dtypes. Lists no failure: failure_text does.
// Who calls it: assay check, assay report.
//
//   std::cout << table(read_results("results.jsonl"), isatty(1));
#pragma once

#include <string>

#include "harness/result/records.hpp"

namespace assay {

[[nodiscard]] std::string table(const RunResults&, bool colour);

}  // namespace assay
