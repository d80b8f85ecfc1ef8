#include "harness/result/verdict.hpp"

#include <array>
#include <stdexcept>
#include <string>

namespace assay {
namespace {

constexpr std::array<std::string_view, 8> kVerdicts{"PASS",    "FAIL",   "NUMERICAL_PASS",  "NOT_APPLICABLE",
                                                    "VACUOUS", "WAIVED", "UNEXPECTED_PASS", "NO_DECISION"};
constexpr std::array kReasons = std::to_array<std::string_view>({"none",
                                                                 "crash",
                                                                 "exit",
                                                                 "timeout",
                                                                 "device_fault",
                                                                 "descriptors",
                                                                 "forked",
                                                                 "load_crash",
                                                                 "out_of_memory",
                                                                 "corrupts_worker",
                                                                 "entry_failed",
                                                                 "unwritten",
                                                                 "stray_write",
                                                                 "binding",
                                                                 "contiguous_only",
                                                                 "aliasing",
                                                                 "input_changed",
                                                                 "out_of_bounds",
                                                                 "retained",
                                                                 "scalar_ignored",
                                                                 "mismatch",
                                                                 "structured",
                                                                 "bound",
                                                                 "not_finite",
                                                                 "not_repeatable",
                                                                 "row_dependence",
                                                                 "split_differs",
                                                                 "page_dependence",
                                                                 "index_order",
                                                                 "rank_order",
                                                                 "not_linear",
                                                                 "prepared",
                                                                 "not_isolated",
                                                                 "left_behind",
                                                                 "never_executed",
                                                                 "fallback",
                                                                 "unbound",
                                                                 "unordered",
                                                                 "late_write",
                                                                 "host_sync",
                                                                 "concurrent",
                                                                 "capture_failed",
                                                                 "ran_at_capture",
                                                                 "baked",
                                                                 "host_memory",
                                                                 "order_dependent",
                                                                 "stale_eager",
                                                                 "growth",
                                                                 "cold",
                                                                 "call_count",
                                                                 "workspace_moved",
                                                                 "skewed",
                                                                 "mode_switch",
                                                                 "graph_skewed",
                                                                 "wrong_group",
                                                                 "mixed_inputs",
                                                                 "fell_back",
                                                                 "not_aborted",
                                                                 "rank_ineligible",
                                                                 "world_size",
                                                                 "overlap",
                                                                 "misrouted",
                                                                 "stock_disturbed",
                                                                 "undeclared",
                                                                 "killed",
                                                                 "unobserved",
                                                                 "no_device",
                                                                 "harness",
                                                                 "flaky",
                                                                 "vacuous",
                                                                 "no_case",
                                                                 "outside_domain",
                                                                 "no_graph_proof",
                                                                 "interrupted"});
static_assert(kReasons.size() == static_cast<std::size_t>(Reason::interrupted) + 1);

}  // namespace

std::string_view name_of(Verdict v) noexcept { return kVerdicts[static_cast<std::size_t>(v)]; }
std::string_view name_of(Reason r) noexcept { return kReasons[static_cast<std::size_t>(r)]; }

Verdict verdict_from(std::string_view name) {
  for (std::size_t i = 0; i < kVerdicts.size(); ++i)
    if (kVerdicts[i] == name) return static_cast<Verdict>(i);
  throw std::invalid_argument("no such verdict: " + std::string(name));
}

Reason reason_from(std::string_view name) {
  for (std::size_t i = 0; i < kReasons.size(); ++i)
    if (kReasons[i] == name) return static_cast<Reason>(i);
  throw std::invalid_argument("no such reason: " + std::string(name));
}

Verdict verdict_of(Reason r) noexcept {
  switch (r) {
    case Reason::none:
      return Verdict::pass;
    case Reason::killed:
    case Reason::unobserved:
    case Reason::no_device:
    case Reason::harness:
    case Reason::flaky:
    case Reason::interrupted:
      return Verdict::no_decision;
    case Reason::vacuous:
    case Reason::no_case:
      return Verdict::vacuous;
    case Reason::outside_domain:
      return Verdict::not_applicable;
    case Reason::no_graph_proof:
      return Verdict::numerical_pass;
    default:
      return Verdict::fail;
  }
}

}  // namespace assay
