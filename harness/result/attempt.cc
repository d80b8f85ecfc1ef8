#include "harness/result/attempt.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace assay {
namespace {

constexpr std::array<std::string_view, 5> kProducts{"execution", "graph", "audit", "speed", "quality"};
constexpr std::array<std::string_view, 4> kStates{"NOT_RUN", "PASSED", "CANDIDATE_FAILED", "INFRASTRUCTURE_FAILED"};
constexpr std::array<std::string_view, 4> kPhases{"before eager", "eager", "capture", "replay"};
constexpr std::array<std::string_view, 4> kRetries{"none", "replay_from_record", "complete_new_attempt", "hold"};

using Phase = GroupOutcome::Phase;

AttributedVerdict infrastructure(std::string why) { return Undecided{Undecided::By::infrastructure, std::move(why)}; }

}  // namespace

std::string_view name_of(ProductKind k) noexcept { return kProducts[static_cast<std::size_t>(k)]; }
std::string_view name_of(Retry r) noexcept { return kRetries[static_cast<std::size_t>(r)]; }
std::string_view name_of(Phase p) noexcept { return kPhases[static_cast<std::size_t>(p)]; }

PhaseState phase_state_from(std::string_view name) {
  for (std::size_t i = 0; i < kStates.size(); ++i)
    if (kStates[i] == name) return static_cast<PhaseState>(i);
  throw std::invalid_argument("no such phase state: " + std::string(name));
}

AttributedVerdict decide(const Attempt& attempt, const std::vector<Product>& products) {
  if (!attempt.stack_is_current)
    return Undecided{Undecided::By::validator, "the attempt's own stack is not the one that is served now"};
  std::vector<ProductKind> kinds = attempt.required;
  for (const Product& p : products) kinds.push_back(p.kind);  // one that nobody required may fail all the same
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());

  std::optional<AttributedVerdict> failed, open;
  for (const ProductKind kind : kinds) {
    const bool needed = std::find(attempt.required.begin(), attempt.required.end(), kind) != attempt.required.end();
    bool found = false;
    for (const Product& p : products) {
      if (p.kind != kind || !(p.identity == attempt.identity)) continue;
      found = true;
      if (const auto* f = std::get_if<CandidateFailed>(&p.decision); f && !failed)
        failed = CandidateFailed{std::string(name_of(kind)) + ": " + f->why};
      if (const auto* u = std::get_if<Undecided>(&p.decision); u && !open && needed)
        open = Undecided{u->by, std::string(name_of(kind)) + ": " + u->why};
    }
    if (!found && needed && !open)
      open = infrastructure(std::string(name_of(kind)) + ": no product is bound to this attempt");
  }
  if (failed) return *failed;
  if (open) return *open;
  if (attempt.required.empty()) return Undecided{Undecided::By::validator, "no product is required: nothing was asked"};
  return Passed{};
}

Retry retry_after(const AttributedVerdict& d, int attempts_left) noexcept {
  if (std::holds_alternative<Passed>(d)) return Retry::none;
  if (std::holds_alternative<CandidateFailed>(d)) return Retry::replay_from_record;
  return attempts_left > 0 ? Retry::complete_new_attempt : Retry::hold;
}

bool PhaseRecord::candidate_failed() const noexcept {
  return eager_ == PhaseState::candidate_failed || capture_ == PhaseState::candidate_failed ||
         replay_ == PhaseState::candidate_failed;
}

PhaseRecord PhaseRecord::make(PhaseState eager, PhaseState capture, PhaseState replay, std::int64_t replays,
                              bool complete) {
  using S = PhaseState;
  const auto need = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  };
  need(eager == S::passed || (capture == S::not_run && replay == S::not_run),
       "capture and replay do not run unless eager passed");
  need(capture == S::passed || replay == S::not_run, "replay does not run unless capture passed");
  need(replays >= 0 && (replay != S::not_run || replays == 0), "a replay that did not run has no count");
  need(replay != S::passed || replays >= 1, "a passed replay has a count of at least 1");
  const auto any = [&](S state) { return eager == state || capture == state || replay == state; };
  need(!any(S::infrastructure_failed) || !complete, "an infrastructure failure leaves the observation incomplete");
  need(!any(S::candidate_failed) || complete, "a candidate failure is a complete observation");
  need(!(complete && capture == S::passed) || replay != S::not_run, "captured and never replayed is incomplete");
  PhaseRecord r;
  r.eager_ = eager;
  r.capture_ = capture;
  r.replay_ = replay;
  r.replays_ = replays;
  r.complete_ = complete;
  return r;
}

GroupOutcome group_outcome(const std::vector<std::optional<PhaseRecord>>& ranks, std::int64_t least_replays) {
  using S = PhaseState;
  if (ranks.empty() || std::find(ranks.begin(), ranks.end(), std::nullopt) != ranks.end())
    return {Phase::before_eager, 0, infrastructure("a rank is missing")};
  const auto all = [&](auto&& holds) {
    return std::all_of(ranks.begin(), ranks.end(), [&](const auto& r) { return holds(*r); });
  };
  const auto any = [&](auto&& holds) {
    return std::any_of(ranks.begin(), ranks.end(), [&](const auto& r) { return holds(*r); });
  };
  std::int64_t least = ranks.front()->replays(), most = least;
  for (const auto& r : ranks) {
    least = std::min(least, r->replays());
    most = std::max(most, r->replays());
  }
  if (!all([](const PhaseRecord& r) { return r.complete(); })) {
    const bool eager = all([](const PhaseRecord& r) { return r.eager() == S::passed; });
    const bool capture = all([](const PhaseRecord& r) { return r.capture() == S::passed; });
    const Phase reached = capture ? Phase::replay : eager ? Phase::capture : Phase::before_eager;
    return {reached, capture ? least : 0, infrastructure("a rank's observation is incomplete")};
  }
  const std::string blamed = "a rank's observation is a complete failure of the candidate";
  if (any([](const PhaseRecord& r) { return r.eager() == S::candidate_failed; }))
    return {Phase::eager, 0, CandidateFailed{blamed}};
  if (any([](const PhaseRecord& r) { return r.capture() == S::candidate_failed; }))
    return {Phase::capture, 0, CandidateFailed{blamed}};
  if (any([](const PhaseRecord& r) { return r.replay() == S::candidate_failed; }))
    return {Phase::replay, least, CandidateFailed{blamed}};
  if (least != most) return {Phase::replay, least, infrastructure("ranks replayed unequally often")};
  if (all([](const PhaseRecord& r) { return r.replay() == S::passed; })) {
    if (least < least_replays)
      return {Phase::replay, least,
              infrastructure("replayed " + std::to_string(least) + " times where " + std::to_string(least_replays) +
                             " are required")};
    return {Phase::replay, least, Passed{}};
  }
  if (all([](const PhaseRecord& r) { return r.eager() == S::passed && r.capture() == S::not_run; }))
    return {Phase::eager, 0, Passed{}};
  if (all([](const PhaseRecord& r) { return r.eager() == S::not_run; }))
    return {Phase::before_eager, 0, Undecided{Undecided::By::validator, "the case applies to no rank"}};
  return {Phase::before_eager, 0, infrastructure("ranks ran different phases")};
}

}  // namespace assay
