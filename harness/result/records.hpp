// records.hpp: the lines of results.jsonl (schema 1, written out in harness/result/README.md).
//
// Promises: one JSON object a line; a run line first, an end line last; a trial's line is on disk before the next
// trial begins. What a report or an exit code says is a function of these lines alone; a missing end line makes the
// run NO_DECISION. Reading refuses unknown keys and anything else that schema 1 does not have.
// Not promised: that text survives byte for byte; ill-formed UTF-8 is written as U+FFFD.
// Who uses it: conformance (writer), reports (reader).
//
//   writer.line(to_json(rule));                  // while running, and add_line(results, ...) beside it
//   writer.line(to_json(end_for(results)));      // last
//   EndRecord said = conclude(read_results("results.jsonl"));
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/result/cell_map.hpp"
#include "harness/result/gate.hpp"
#include "harness/result/tried.hpp"
#include "harness/result/verdict.hpp"

namespace assay {

inline constexpr int results_schema = 1;
inline constexpr std::size_t results_line_limit = 16u << 20u;  // bytes; a trial may carry thousands of cases

struct RunRecord {
  std::string assay_version, library, library_sha256, library_name, library_version;
  std::vector<std::string> devices;  // "host: host model", "cuda: NVIDIA H200, driver 580.159"
  std::string tier, isolation;       // isolation: a level (worker/isolation.hpp); a colon and details
  std::uint64_t seed = 0;
  std::string started;  // UTC, ISO 8601
  std::string command;  // that reproduces the run
  std::string nccl, nccl_version, nccl_sha256;  // the file that the library's CUDA collectives brought; left out if none
  std::optional<GateRecord> gate = {};          // of `check --gate`; left out elsewhere
};

// Whose line it is. Empty fields are left out.
struct Subject {
  std::string slot, variant, device, dtype, rule;
  std::int64_t ranks = 1;  // of a collective; left out where it is 1
  friend bool operator==(const Subject&, const Subject&) = default;
};

struct TrialRecord {
  Subject subject;  // without rule
  std::string drive, trial_digest;
  double milliseconds = 0;
  std::vector<std::pair<std::string, Verdict>> judgements;  // by rule
};

struct CasesRecord {                // once a slot, variant, device and dtype
  Subject subject;                  // without rule
  std::int64_t distinct = 0;        // cases drawn and pinned
  std::int64_t outside_domain = 0;  // of these
  Tried tried = {};                 // left out where it is empty
};

struct RuleRecord {  // once a slot, variant, device, dtype and rule
  Subject subject;
  Verdict verdict = Verdict::pass;
  Reason reason = Reason::none;
  std::int64_t judged = 0, evidence = 0;
  std::vector<std::string> warnings;
  std::string text;  // why, where it is not PASS and no failure line says so
};

struct FailureRecord {
  Subject subject;
  Reason reason = Reason::none;
  std::string text, label, pattern, bound;
  nlohmann::json worst = nlohmann::json::array();  // of worst_cell(): numbers as text, NaN and infinity too
  nlohmann::json trial;                            // the shrunk trial
  std::string trial_text;                          // one line for people
  std::string trial_file;                          // where it was written; empty: nowhere
  std::string replay;                              // the command
  std::int64_t cases_until_caught = 0, shrink_runs = 0;
  double seconds_until_shrunk = 0;
  bool minimal = true;        // false: smallest found, not minimal
  std::string confirmed;      // "fresh worker", "with its history", "flaky: 2 of 5"
  std::string worker_output;  // last lines, shown, never parsed
  std::vector<CellMap> maps = {};  // of the shrunk trial, then as first caught; left out where there is none
};

// A later process goes on with the run. Units without a cases line are judged again from their start: their rule lines
// count no more, and a failure of the candidate's until the unit's new line for that rule says otherwise as well.
struct ResumeRecord {
  std::string started;    // UTC, ISO 8601
  std::int64_t kept = 0;  // units that have a cases line
};

struct EndRecord {
  std::string verdict;  // PASS, FAIL, NO_DECISION
  int exit_code = 3;
  double seconds = 0;
  std::string why;  // one sentence where it is not PASS
};

[[nodiscard]] nlohmann::json to_json(const RunRecord&);
[[nodiscard]] nlohmann::json to_json(const TrialRecord&);
[[nodiscard]] nlohmann::json to_json(const CasesRecord&);
[[nodiscard]] nlohmann::json to_json(const RuleRecord&);
[[nodiscard]] nlohmann::json to_json(const FailureRecord&);
// Whether fresh workers repeated it in a part of the attempts only.
[[nodiscard]] inline bool is_flaky(const FailureRecord& f) { return f.confirmed.rfind("flaky", 0) == 0; }
[[nodiscard]] nlohmann::json to_json(const ResumeRecord&);
[[nodiscard]] nlohmann::json to_json(const EndRecord&);

// One element of FailureRecord::worst: {"where", "actual", "expected", "bound"}, shortest text that reads back.
[[nodiscard]] nlohmann::json worst_cell(std::string_view where, double actual, double expected, double bound);

// Trials of one slot on one device, and of one drive over all slots.
struct SlotTime {
  std::string slot, device;
  std::int64_t trials = 0;
  double milliseconds = 0, slowest = 0;
};
struct DriveTime {
  std::string drive;
  std::int64_t trials = 0;
  double milliseconds = 0, slowest = 0;
};

// Everything that was read of a results file. Trial lines are only counted: there are tens of thousands.
struct RunResults {
  bool has_run = false, has_end = false;
  RunRecord run;
  std::int64_t trials = 0;
  std::vector<SlotTime> times;
  std::vector<DriveTime> drives;
  std::vector<CasesRecord> cases;
  std::vector<RuleRecord> rules;
  std::vector<FailureRecord> failures;
  std::vector<ResumeRecord> resumes;
  std::size_t earlier_failures = 0;  // the first of `failures`: of units that were then begun again
  EndRecord end;
};

// Adds one line. Throws std::invalid_argument with one sentence for a line that is not of the schema.
void add_line(RunResults&, std::string_view line);
// Reads a file. A last line that was cut off is ignored (a killed judge); any other bad line throws
// std::invalid_argument, a file that cannot be read std::runtime_error.
[[nodiscard]] RunResults read_results(const std::string& path);
// The same of what a file holds; `name` stands in sentences.
[[nodiscard]] RunResults parse_results(std::string_view text, const std::string& name);

// A run of `check --gate`: a waiver of what holds fails it, a numerical pass does not pass it.
[[nodiscard]] bool is_gate(const RunRecord&) noexcept;

// What the end line has to say after these lines, without seconds: any FAIL, or UNEXPECTED_PASS in a gate, is FAIL;
// else NO_DECISION or VACUOUS, or NUMERICAL_PASS in a gate, is NO_DECISION; else at least one PASS or NUMERICAL_PASS is
// PASS (design.md, Verdicts). No rule line, none judged, or a PASS without a judgement: NO_DECISION. A failure line
// counts even where its rule line is missing or passes. A gate also decides nothing where a rule was left out, where a
// variant has no receipt that it ran or no graph that holds, or where nothing was judged of a dtype that its domain does
// not exclude.
[[nodiscard]] EndRecord end_for(const RunResults&);

// The same without what a gate asks beyond its rule lines: of some of a run's rules.
[[nodiscard]] EndRecord end_of_rules(const RunResults&);

// Verdict and exit code that the file proves: NO_DECISION without an end line; else what the end line says, unless
// the lines before it say worse.
[[nodiscard]] EndRecord conclude(const RunResults&);

}  // namespace assay
