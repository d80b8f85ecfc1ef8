// harness/route/serving.hpp: what happens to a call once it is decided: steps 8 to 12 of routing-and-targets.md 5.2,
// and what a failure on the way means (5.3, 6.2).
//
// Promises: a call that was not selected is stock's and leaves no receipt. A selected one is the candidate's alone: in
// strict mode its failure propagates, and stock is not called; in permissive mode, outside collectives, stock may serve
// once, and `fallback` is minted only after it has. A failure of a collective aborts every rank. `fired` is minted at
// the commit, `completed` after the outputs were validated and the device is known to be done. Who calls it: the
// `routed` drive, tests.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/receipt/receipt.hpp"
#include "harness/route/agreement.hpp"

namespace assay {

// strict: evidence. permissive: serving alone.
enum class RetryMode : std::uint8_t { strict, permissive };

// What a failed step makes of the attempt, as far as one rank can know: candidate where it is the candidate's.
struct StepFailure {
  std::string what;
  AttemptEffect effect = AttemptEffect::candidate;
};
using StepResult = std::optional<StepFailure>;

// The steps of one rank, by their numbers in 5.2; each is called at most once and in this order. An empty one succeeds.
struct ServingSteps {
  std::function<StepResult()> allocate = {};    // 8: outputs, audit clones, prepare where it was not run at load
  std::function<std::string()> commit = {};     // 9: selects again; the variant's id. Empty: as decided
  std::function<StepResult()> call = {};        // 10
  std::function<StepResult()> revalidate = {};  // 11, 11a: bindings, audit, and the event behind the last node
  std::function<StepResult()> stock = {};
};

struct ServedCall {
  enum class By : std::uint8_t { candidate, stock, nobody } by = By::nobody;
  std::vector<ReceiptKind> receipts;
  std::string failure;  // that propagates; empty: none does
  bool abort_all_ranks = false;
  bool disqualified = false;  // the launch is evidence no more
  // Of a strict run. A collective's needs every rank's state: attribute_group().
  AttemptEffect effect = AttemptEffect::none;
};

[[nodiscard]] ServedCall serve(const RouteDecision&, RetryMode, bool collective, const ServingSteps&);

// 6.2: after an abort, FAIL/candidate takes every rank's state observed and a complete candidate failure on one.
struct RankState {
  bool observed = true;
  bool candidate_failed = false;
};
[[nodiscard]] AttemptEffect attribute_group(const std::vector<RankState>&);

}  // namespace assay
