// reports/page_parts.hpp: the parts of the page as data for its templates, page/*.mustache, which name the keys.
//
// Promises: pure functions of results; texts are as they are in the records, escaping is render's. Every key that a
// template reads is set, since Mustache looks for a missing one further out.
// Who calls it: page.cc.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/result/records.hpp"
#include "reports/failure_text.hpp"

namespace assay {

using Groups = std::vector<std::vector<FailureRecord>>;

// page_failures.cc. The id of a failure's article: "failure-3".
[[nodiscard]] std::string failure_id(std::size_t group);
// The article that tells of a rule of a place, whatever the dtype; empty where none does.
[[nodiscard]] std::string failure_id_of(const Groups&, const Subject&);
// `before`: the earlier run's failures, or null.
[[nodiscard]] nlohmann::json failures_part(const Groups&, const RunResults* before);

// page_grid.cc: {columns, many, groups, signs, nowhere, has_matrix, host_graphs}; {slots}, counts of rules; {notes}.
[[nodiscard]] nlohmann::json grid_part(const RunResults&, const Groups&, const RunResults* before);
[[nodiscard]] nlohmann::json slots_part(const RunResults&);
[[nodiscard]] nlohmann::json notes_part(const RunResults&);

// page_changes.cc: {changes, gone}.
[[nodiscard]] nlohmann::json changes_part(const RunResults& now, const Groups&, const RunResults& before);

// page_tried.cc: {cases, case_sentence}; tables of times; facts of the run.
[[nodiscard]] nlohmann::json cases_part(const RunResults&);
[[nodiscard]] nlohmann::json times_part(const RunResults&, const RunResults* before);
[[nodiscard]] nlohmann::json facts_part(const RunResults&, const RunResults* before);
[[nodiscard]] std::string counts_sentence(const RunResults&);

// Of a verdict: the class that page.css styles.
[[nodiscard]] std::string class_of(Verdict);
// "bf16, fp16".
[[nodiscard]] std::string joined(const std::vector<std::string>&);
void add_new(std::vector<std::string>&, const std::string&);

}  // namespace assay
