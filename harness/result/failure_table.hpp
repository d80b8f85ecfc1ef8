// harness/result/failure_table.hpp: what each failure owes, by phase and event, and which row each reason of ours is.
//
// Promises: routing-and-targets.md 9 as data, with slots.md 11.2 and design.md's table of blame where the suite knows
// more; one row a (phase, event). Every Reason names its row, so that a verdict, its attribution and the table cannot
// drift apart (failure_table_test.cc). What was not admitted has no verdict and is never stored as FAIL.
// Who uses it: records (attribution), reports, tests of blame and of verdicts.
//
//   attribution_of(Verdict::no_decision, Reason::killed);   // infrastructure
//   find_failure("graph capture", "host sync")->owes;       // Owed::candidate
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "harness/result/decision.hpp"

namespace assay {

enum class RequiredAction : std::uint8_t {
  none,
  reject,  // before execution
  stop,    // this shape, or the build
  fail_closed,
  abort_launch,
  invalidate,  // the execution; no stock retry
  abort_all_ranks,
  stock,  // before selection, where policy permits
  stock_everywhere,
  stock_once,  // permissive mode: `fallback`, and the launch's evidence is gone
  new_attempt,
  preserve_and_retry,
  replace_process,
};
[[nodiscard]] std::string_view name_of(RequiredAction) noexcept;

enum class Owed : std::uint8_t { not_admitted, nothing, candidate, validator, infrastructure, measurement };
[[nodiscard]] std::string_view name_of(Owed) noexcept;

struct FailureRow {
  std::string_view phase, event;
  RequiredAction action = RequiredAction::none;
  Owed owes = Owed::nothing;
};

[[nodiscard]] std::span<const FailureRow> failure_table() noexcept;
[[nodiscard]] const FailureRow* find_failure(std::string_view phase, std::string_view event) noexcept;  // NULL: no row
[[nodiscard]] const FailureRow* failure_of(Reason) noexcept;  // NULL: none, a reason that is no failure

// Of a line of results. FAIL and WAIVED are the candidate's whatever the reason.
[[nodiscard]] Attribution attribution_of(Verdict, Reason) noexcept;

}  // namespace assay
