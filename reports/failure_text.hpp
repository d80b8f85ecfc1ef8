// reports/failure_text.hpp: one failure, for the reader at three in the morning.
//
// Promises: line 1 says slot, rules and verdict, line 2 is the command that replays it, whole and unbroken; then the
// shrunk trial, the worst cells and where they lie, the bound and its reason, device and versions, and last what the
// worker printed, marked, escaped, never parsed. Says nothing that is not in the records.
// Who calls it: assay check, while and after it runs; assay report.
//
//   for (const auto& group : grouped(results)) std::cout << failure_text(group, results.run, false) << '\n';
#pragma once

#include <string>
#include <vector>

#include "harness/result/records.hpp"

namespace assay {

// Failures that share slot, variant, device, reason and shrunk trial; dtypes whose groups then have the same rules are
// put together, the first dtype's failures in front. In the order of the file.
[[nodiscard]] std::vector<std::vector<FailureRecord>> grouped(const RunResults&);

// What was found, once for all rules of the group's first dtype that found the same.
struct Finding {
  const FailureRecord* failure = nullptr;  // in the group
  std::vector<std::string> rules;
};
[[nodiscard]] std::vector<Finding> findings_of(const std::vector<FailureRecord>& group);

// One block. The group comes from grouped() and is not empty.
[[nodiscard]] std::string failure_text(const std::vector<FailureRecord>& group, const RunRecord&, bool colour);

}  // namespace assay
