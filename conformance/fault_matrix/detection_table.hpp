// detection_table.hpp: what the fault matrix found, for people: a line a fault, the medians, a page in Markdown.
//
// Promises: pure functions of detections; every fault has its line, the missed ones say why.
// Who calls it: conformance/fault_matrix/main.cc; reports/detection_host.md is markdown_page()'s.
#pragma once

#include <string>
#include <vector>

#include "conformance/fault_matrix/detection.hpp"

namespace assay {

// The middle of the caught ones; 0 where none is.
struct Medians {
  std::size_t caught = 0;
  double cases = 0, seconds_until_caught = 0, seconds_until_shrunk = 0, most_seconds = 0;
};
[[nodiscard]] Medians medians_of(const std::vector<Detection>&);

[[nodiscard]] std::string text_line(const Detection&);
[[nodiscard]] std::string summary_line(const std::vector<Detection>&);
// `what`: the command and the machine, in a sentence.
[[nodiscard]] std::string markdown_page(const std::vector<Detection>&, const std::string& what);

}  // namespace assay
