// harness/receipt/coverage.hpp: what the receipts of a launch prove about one variant: nothing, silence, part of the
// ranks, or that it ran on all of them.
//
// Promises: a pure function of the receipts and of what is known about the plumbing (routing-and-targets.md 8.3 to
// 8.5). Execution is `completed`, and `replayed` where a graph is claimed, from every member; `active`, `fired` and
// `aot_*` are none. A fallback or a failed load anywhere disqualifies. What cannot be seen is never read as zero.
// Who calls it: conformance/rules/receipt.cc, the router's tests, fixtures/receipt_vectors.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/receipt/receipt.hpp"
#include "harness/result/decision.hpp"

namespace assay {

struct CoverageQuestion {
  std::string slot, variant;   // the pair that is graded
  std::int64_t ranks = 1;      // of the arena
  bool graph_claimed = false;  // needs `replayed`
  std::int64_t least_replays = 2;
  bool root_present = true;          // receipts could be received at all
  bool scope_present = true;         // the launch began this generation
  bool reachable = true;             // the target is installable in this arena
  std::vector<std::string> refused;  // receipts that were not taken
};

enum class ExecutionState : std::uint8_t { unobserved, partial, silent, disqualified, complete };
[[nodiscard]] std::string_view name_of(ExecutionState) noexcept;

struct ExecutionFact {
  ExecutionState state = ExecutionState::unobserved;
  AttributedVerdict decision = Undecided{};
};

[[nodiscard]] ExecutionFact execution_fact(const CoverageQuestion&, const std::vector<Receipt>&);

}  // namespace assay
