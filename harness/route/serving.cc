#include "harness/route/serving.hpp"

#include <algorithm>

namespace assay {
namespace {

StepResult run(const std::function<StepResult()>& step) { return step ? step() : std::nullopt; }

}  // namespace

ServedCall serve(const RouteDecision& decision, RetryMode mode, bool collective, const ServingSteps& steps) {
  ServedCall served;
  if (!decision.selected()) {
    served.effect = effect_of(decision.outcome);
    if (StepResult failed = run(steps.stock)) {
      served.failure = failed->what;
    } else {
      served.by = ServedCall::By::stock;
    }
    return served;
  }
  StepResult failed = run(steps.allocate);
  if (!failed) {
    const std::string again = steps.commit ? steps.commit() : decision.variant;
    if (again != decision.variant) {
      failed = StepFailure{
          "the commit selected " + (again.empty() ? "nothing" : again) + " and the decision " + decision.variant,
          AttemptEffect::validator};
    }
  }
  if (!failed) {
    served.receipts.push_back(ReceiptKind::fired);
    failed = run(steps.call);
  }
  if (!failed) failed = run(steps.revalidate);
  if (!failed) {
    served.by = ServedCall::By::candidate;
    served.receipts.push_back(ReceiptKind::completed);
    return served;
  }
  served.failure = failed->what;
  served.disqualified = true;
  served.effect = failed->effect;
  if (collective) {
    // Peers may be inside the candidate's collective already: whatever the mode, nobody retries.
    served.abort_all_ranks = true;
    return served;
  }
  if (mode == RetryMode::strict) return served;
  if (StepResult stock_failed = run(steps.stock)) {
    served.failure = stock_failed->what;
    return served;
  }
  served.failure.clear();
  served.by = ServedCall::By::stock;
  served.receipts.push_back(ReceiptKind::fallback);
  return served;
}

AttemptEffect attribute_group(const std::vector<RankState>& ranks) {
  const bool all = std::all_of(ranks.begin(), ranks.end(), [](const RankState& r) { return r.observed; });
  const bool any = std::any_of(ranks.begin(), ranks.end(), [](const RankState& r) { return r.candidate_failed; });
  return all && any ? AttemptEffect::candidate : AttemptEffect::infrastructure;
}

}  // namespace assay
