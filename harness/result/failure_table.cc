#include "harness/result/failure_table.hpp"

#include <algorithm>
#include <array>

namespace assay {
namespace {

using A = RequiredAction;
using O = Owed;

constexpr auto kTable = std::to_array<FailureRow>({
    {"manifest parse", "malformed predicate", A::reject, O::not_admitted},
    {"manifest parse", "duplicate key", A::reject, O::not_admitted},
    {"manifest parse", "unknown field", A::reject, O::not_admitted},
    {"manifest resolution", "slot not registered", A::reject, O::not_admitted},
    {"manifest resolution", "overlapping variant domains", A::reject, O::not_admitted},
    {"manifest resolution", "contract digest out of date", A::reject, O::not_admitted},
    {"manifest resolution", "members differ from the target", A::reject, O::not_admitted},
    {"admission", "target unavailable in the arena", A::reject, O::not_admitted},
    {"admission", "feature not allowed", A::reject, O::not_admitted},
    {"admission", "graph_safe missing under the gate", A::reject, O::not_admitted},
    {"build", "the candidate does not compile, the toolchain control does", A::stop, O::candidate},
    {"build", "the toolchain control does not compile", A::stop, O::infrastructure},
    {"artifact load", "its own inventory or parameter width differs", A::fail_closed, O::candidate},
    {"artifact load", "no resolver for a group projection", A::fail_closed, O::validator},
    {"artifact load", "its variants accept the same call", A::fail_closed, O::candidate},
    {"rank load", "some ranks load and others do not", A::abort_launch, O::infrastructure},
    {"rank load", "the same error on every rank", A::abort_launch, O::candidate},
    {"prepare", "raises", A::invalidate, O::candidate},
    {"prepare", "raises on a rank of a group", A::abort_all_ranks, O::candidate},
    {"prepare", "mutates raw weights", A::invalidate, O::candidate},
    {"prepare", "leaves more behind than is allowed", A::invalidate, O::candidate},
    {"prepare", "layers disturb each other", A::invalidate, O::candidate},
    {"excluded phase", "autotuner active", A::stock, O::nothing},
    {"pre-selection routing", "outside the domain", A::stock, O::nothing},
    {"pre-selection routing", "missing field", A::stock, O::nothing},
    {"pre-selection routing", "variants found to overlap at run time", A::stock, O::validator},
    {"pre-selection routing", "the candidate acts in a call of stock's", A::stop, O::candidate},
    {"rank divergence", "decision digests differ", A::stock_everywhere, O::validator},
    {"rank divergence", "no answer within the deadline", A::abort_all_ranks, O::infrastructure},
    {"selected, non-collective", "raises", A::invalidate, O::candidate},
    {"selected, non-collective", "ends its process", A::invalidate, O::candidate},
    {"selected, non-collective", "does not return", A::invalidate, O::candidate},
    {"selected, non-collective", "output storage rebound", A::invalidate, O::candidate},
    {"selected, non-collective", "input mutated", A::invalidate, O::candidate},
    {"selected, non-collective", "device fault", A::invalidate, O::candidate},
    {"selected, non-collective", "exceeds its own memory limit", A::invalidate, O::candidate},
    {"selected, non-collective", "breaks the worker that holds it", A::invalidate, O::candidate},
    {"selected, non-collective", "loaded everywhere, nothing completed", A::invalidate, O::candidate},
    {"selected, non-collective", "its receipts are not its own", A::invalidate, O::candidate},
    {"selected, non-collective, permissive", "stock served after it failed", A::stock_once, O::candidate},
    {"selected, collective", "one rank fails, all ranks observed", A::abort_all_ranks, O::candidate},
    {"selected, collective", "a rank is missing or was killed", A::abort_all_ranks, O::infrastructure},
    {"selected, collective", "time limit, not reproduced", A::abort_all_ranks, O::infrastructure},
    {"selected, collective", "time limit, reproduced in two fresh sets", A::abort_all_ranks, O::candidate},
    {"eager verification", "wrong numbers", A::stop, O::candidate},
    {"eager verification", "partial write over poison", A::stop, O::candidate},
    {"eager verification", "writes elsewhere", A::stop, O::candidate},
    {"eager verification", "follows what it must not read or keep", A::stop, O::candidate},
    {"eager verification", "a relation does not hold", A::stop, O::candidate},
    {"eager verification", "stream order not kept", A::stop, O::candidate},
    {"eager verification", "no informative case", A::none, O::infrastructure},
    {"eager verification", "repeated selection in a selected set", A::stop, O::candidate},
    {"graph capture", "illegal operation", A::stop, O::candidate},
    {"graph capture", "runs while it is captured", A::stop, O::candidate},
    {"graph capture", "host sync", A::stop, O::candidate},
    {"graph capture", "driver or allocator exhausted", A::stop, O::infrastructure},
    {"graph replay", "answers for the inputs seen at capture", A::stop, O::candidate},
    {"graph replay", "depends on order, memory or calls between replays", A::stop, O::candidate},
    {"graph replay", "grows", A::stop, O::candidate},
    {"graph coverage", "missing member", A::none, O::infrastructure},
    {"graph coverage", "replay count differs from what is required", A::none, O::infrastructure},
    {"graph coverage", "missing variant or shape row", A::none, O::validator},
    {"graph coverage", "no graph is claimed", A::none, O::nothing},
    {"graph applicability", "claims that it does not apply where it does", A::none, O::candidate},
    {"graph applicability", "no applicable shape, or incomplete domain coverage", A::none, O::candidate},
    {"deep pairing", "its artifact broke the export contract", A::abort_all_ranks, O::candidate},
    {"deep pairing", "more rows consumed than exported", A::abort_all_ranks, O::validator},
    {"speed", "slower, or below the bar", A::stop, O::candidate},
    {"speed", "faster, but the incumbent reads disagree", A::new_attempt, O::measurement},
    {"speed", "drift, missing read or foreign device activity", A::new_attempt, O::measurement},
    {"audit", "violation with full coverage", A::none, O::candidate},
    {"audit", "missing rank, too few calls or a compare error", A::none, O::infrastructure},
    {"end-to-end quality", "the sealed trajectory is worse under T", A::none, O::candidate},
    {"end-to-end quality", "stock control outside its envelope, or T is another", A::none, O::validator},
    {"infrastructure", "worker lost", A::preserve_and_retry, O::infrastructure},
    {"infrastructure", "device absent or busy", A::preserve_and_retry, O::infrastructure},
    {"infrastructure", "evidence store failed, or the run was ended", A::preserve_and_retry, O::infrastructure},
    {"infrastructure", "a fresh worker does not repeat it", A::preserve_and_retry, O::infrastructure},
    {"infrastructure", "receipts not observed", A::preserve_and_retry, O::infrastructure},
    {"teardown", "destroy fails, or the device is not quiescent", A::replace_process, O::infrastructure},
});

constexpr std::array<std::string_view, 13> kActions{
    "none",  "reject",           "stop",       "fail_closed", "abort_launch",       "invalidate",     "abort_all_ranks",
    "stock", "stock_everywhere", "stock_once", "new_attempt", "preserve_and_retry", "replace_process"};
constexpr std::array<std::string_view, 6> kOwed{"not_admitted", "nothing",        "candidate",
                                                "validator",    "infrastructure", "measurement"};

struct Place {
  std::string_view phase, event;
};

constexpr std::string_view kSelected = "selected, non-collective", kEager = "eager verification",
                           kCapture = "graph capture", kReplay = "graph replay", kMachine = "infrastructure";

Place place_of(Reason reason) noexcept {
  switch (reason) {
    case Reason::none:
      return {};
    case Reason::crash:
    case Reason::exit:
    case Reason::forked:
      return {kSelected, "ends its process"};
    case Reason::timeout:
      return {kSelected, "does not return"};
    case Reason::device_fault:
      return {kSelected, "device fault"};
    case Reason::descriptors:
    case Reason::corrupts_worker:
      return {kSelected, "breaks the worker that holds it"};
    case Reason::load_crash:
      return {"rank load", "the same error on every rank"};
    case Reason::out_of_memory:
      return {kSelected, "exceeds its own memory limit"};
    case Reason::entry_failed:
      return {kSelected, "raises"};
    case Reason::binding:
      return {kSelected, "output storage rebound"};
    case Reason::input_changed:
      return {kSelected, "input mutated"};
    case Reason::never_executed:
      return {kSelected, "loaded everywhere, nothing completed"};
    case Reason::unbound:
      return {kSelected, "its receipts are not its own"};
    case Reason::fallback:
      return {"selected, non-collective, permissive", "stock served after it failed"};
    case Reason::unwritten:
      return {kEager, "partial write over poison"};
    case Reason::stray_write:
    case Reason::aliasing:
      return {kEager, "writes elsewhere"};
    case Reason::out_of_bounds:
    case Reason::retained:
      return {kEager, "follows what it must not read or keep"};
    case Reason::contiguous_only:
    case Reason::mismatch:
    case Reason::structured:
    case Reason::bound:
    case Reason::not_finite:
      return {kEager, "wrong numbers"};
    case Reason::scalar_ignored:
    case Reason::not_repeatable:
    case Reason::row_dependence:
    case Reason::split_differs:
    case Reason::page_dependence:
    case Reason::index_order:
    case Reason::rank_order:
    case Reason::not_linear:
      return {kEager, "a relation does not hold"};
    case Reason::prepared:
    case Reason::not_isolated:
      return {"prepare", "layers disturb each other"};
    case Reason::left_behind:
      return {"prepare", "leaves more behind than is allowed"};
    case Reason::unordered:
    case Reason::late_write:
    case Reason::concurrent:
      return {kEager, "stream order not kept"};
    case Reason::host_sync:
      return {kCapture, "host sync"};
    case Reason::capture_failed:
      return {kCapture, "illegal operation"};
    case Reason::ran_at_capture:
      return {kCapture, "runs while it is captured"};
    case Reason::baked:
    case Reason::host_memory:
      return {kReplay, "answers for the inputs seen at capture"};
    case Reason::order_dependent:
    case Reason::stale_eager:
    case Reason::cold:
    case Reason::call_count:
    case Reason::workspace_moved:
      return {kReplay, "depends on order, memory or calls between replays"};
    case Reason::growth:
      return {kReplay, "grows"};
    case Reason::skewed:
    case Reason::mode_switch:
    case Reason::wrong_group:
    case Reason::mixed_inputs:
    case Reason::world_size:
      return {kEager, "wrong numbers"};
    case Reason::graph_skewed:
      return {kReplay, "depends on order, memory or calls between replays"};
    case Reason::fell_back:
    case Reason::not_aborted:
    case Reason::rank_ineligible:
      return {"selected, collective", "one rank fails, all ranks observed"};
    case Reason::overlap:
      return {"artifact load", "its variants accept the same call"};
    case Reason::misrouted:
    case Reason::stock_disturbed:
      return {"pre-selection routing", "the candidate acts in a call of stock's"};
    case Reason::undeclared:
      return {"graph applicability", "claims that it does not apply where it does"};
    case Reason::killed:
      return {kMachine, "worker lost"};
    case Reason::unobserved:
      return {kMachine, "receipts not observed"};
    case Reason::no_device:
      return {kMachine, "device absent or busy"};
    case Reason::harness:
      return {kMachine, "worker lost"};
    case Reason::flaky:
      return {kMachine, "a fresh worker does not repeat it"};
    case Reason::vacuous:
    case Reason::no_case:
      return {kEager, "no informative case"};
    case Reason::outside_domain:
      return {"pre-selection routing", "outside the domain"};
    case Reason::no_graph_proof:
      return {"graph coverage", "no graph is claimed"};
    case Reason::interrupted:
      return {kMachine, "evidence store failed, or the run was ended"};
  }
  return {};
}

}  // namespace

std::string_view name_of(RequiredAction a) noexcept { return kActions[static_cast<std::size_t>(a)]; }
std::string_view name_of(Owed o) noexcept { return kOwed[static_cast<std::size_t>(o)]; }

std::span<const FailureRow> failure_table() noexcept { return kTable; }

const FailureRow* find_failure(std::string_view phase, std::string_view event) noexcept {
  const auto at = std::find_if(kTable.begin(), kTable.end(),
                               [&](const FailureRow& row) { return row.phase == phase && row.event == event; });
  return at == kTable.end() ? nullptr : &*at;
}

const FailureRow* failure_of(Reason reason) noexcept {
  const Place place = place_of(reason);
  return find_failure(place.phase, place.event);
}

Attribution attribution_of(Verdict verdict, Reason reason) noexcept {
  if (fails_run(verdict) || verdict == Verdict::waived) return Attribution::candidate;
  if (!undecides_run(verdict)) return Attribution::none;
  const FailureRow* row = failure_of(reason);
  if (row && row->owes == Owed::validator) return Attribution::validator;
  if (row && row->owes == Owed::measurement) return Attribution::measurement;
  return Attribution::infrastructure;
}

}  // namespace assay
