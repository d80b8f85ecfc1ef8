// verdict.hpp: the closed lists of verdicts and reasons, and what each means for a run.
//
// Promises: every verdict knows whether it fails a run; every reason has one stable spelling, used in results.jsonl,
// reports, waivers and planted faults.
// Who uses it: rules, results, reports.
//
//   if (fails_run(judgement.verdict)) std::cout << name_of(judgement.reason);
#pragma once

#include <cstdint>
#include <string_view>

namespace assay {

enum class Verdict : std::uint8_t {
  pass,
  fail,
  numerical_pass,  // right, but the graph proof that the slot requires is absent
  not_applicable,  // outside the variant's declared domain, or the rule does not apply
  vacuous,         // nothing informative was tried
  waived,
  unexpected_pass,
  no_decision,  // harness, machine or device at fault
};
[[nodiscard]] std::string_view name_of(Verdict) noexcept;  // "PASS", "FAIL", ...
[[nodiscard]] Verdict verdict_from(std::string_view);      // throws std::invalid_argument

// What one verdict does to a run. The rest (NOT_APPLICABLE, WAIVED, UNEXPECTED_PASS) neither helps nor harms it.
[[nodiscard]] constexpr bool fails_run(Verdict v) noexcept { return v == Verdict::fail; }
[[nodiscard]] constexpr bool undecides_run(Verdict v) noexcept {
  return v == Verdict::no_decision || v == Verdict::vacuous;
}
[[nodiscard]] constexpr bool passes_run(Verdict v) noexcept {
  return v == Verdict::pass || v == Verdict::numerical_pass;
}

enum class Reason : std::uint8_t {
  none,
  // What happened to the worker.
  crash,
  exit,
  timeout,
  device_fault,
  descriptors,
  forked,
  load_crash,
  out_of_memory,
  corrupts_worker,
  // What the call did wrong.
  entry_failed,
  unwritten,
  stray_write,
  binding,
  contiguous_only,
  aliasing,
  input_changed,
  out_of_bounds,
  retained,
  scalar_ignored,
  mismatch,
  structured,
  bound,
  not_finite,
  not_repeatable,
  row_dependence,
  split_differs,
  page_dependence,
  index_order,
  rank_order,
  not_linear,
  prepared,
  not_isolated,
  left_behind,
  never_executed,
  fallback,
  unbound,
  // Streams and graphs.
  unordered,
  late_write,
  host_sync,
  concurrent,
  capture_failed,
  ran_at_capture,
  baked,
  host_memory,
  order_dependent,
  stale_eager,
  growth,
  cold,
  call_count,
  workspace_moved,
  // Ranks.
  skewed,
  mode_switch,
  graph_skewed,
  wrong_group,
  mixed_inputs,
  fell_back,
  not_aborted,
  rank_ineligible,
  world_size,
  // Routing.
  overlap,          // two variants of a slot accept one call
  misrouted,        // the wrong side served, or more than one
  stock_disturbed,  // a call that stock served does not hold stock's result
  undeclared,
  // No decision, or no evidence.
  killed,
  unobserved,
  no_device,
  harness,
  flaky,
  vacuous,
  no_case,
  outside_domain,
  no_graph_proof,
  interrupted,
};
[[nodiscard]] std::string_view name_of(Reason) noexcept;  // "stray_write", ...
[[nodiscard]] Reason reason_from(std::string_view);       // throws std::invalid_argument
// The verdict that a reason stands for: FAIL where it is the candidate's, NO_DECISION where the machine's or unsettled.
[[nodiscard]] Verdict verdict_of(Reason) noexcept;

enum class ExitCode : int { pass = 0, fail = 1, bad_input = 2, no_decision = 3, internal = 4 };

}  // namespace assay
