#include "harness/receipt/coverage.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace assay {
namespace {

std::string counted(std::size_t n, std::int64_t of) {
  return std::to_string(n) + " of " + std::to_string(of) + " ranks";
}

ExecutionFact unobserved(std::string why) {
  return {ExecutionState::unobserved, Undecided{Undecided::By::infrastructure, std::move(why)}};
}

// The receipts of one pair, by what they say.
struct Said {
  std::set<std::int64_t> completed, captured, replayed, loaded, invoked, active;  // processes
  std::size_t executions = 0;  // receipts that weigh as execution (8.1)
};

}  // namespace

std::string_view name_of(ExecutionState s) noexcept {
  constexpr std::array<std::string_view, 5> names{"unobserved", "partial", "silent", "disqualified", "complete"};
  return names[static_cast<std::size_t>(s)];
}

ExecutionFact execution_fact(const CoverageQuestion& q, const std::vector<Receipt>& receipts) {
  if (!q.root_present) return unobserved("no receipt could be received");
  if (!q.refused.empty()) return unobserved(q.refused.front());

  // Membership: every rank of one world once, and nobody who changes who it is.
  std::map<std::int64_t, std::int64_t> rank_of;  // by process
  std::set<std::tuple<std::int64_t, ReceiptKind, std::string, std::string, std::string>> said;
  Said seen;
  const Receipt* fallback = nullptr;
  const Receipt* failed_load = nullptr;
  for (const Receipt& r : receipts) {
    if (r.world_size != -1 && r.world_size != q.ranks)
      return unobserved("a rank reports a world of " + std::to_string(r.world_size) + " where there are " +
                        std::to_string(q.ranks));
    if (r.rank != -1) {
      const auto [at, fresh] = rank_of.try_emplace(r.pid, r.rank);
      if (!fresh && at->second != r.rank) return unobserved("a process reports two ranks");
    }
    if (r.launch_nonce != receipts.front().launch_nonce || r.scope != receipts.front().scope ||
        r.artifact_digest != receipts.front().artifact_digest)
      return unobserved("receipts of another launch, generation or library are among these");
    if (!said.insert({r.pid, r.kind, r.call.slot, r.call.variant, r.phase()}).second)
      return unobserved("a rank reports " + std::string(name_of(r.kind)) + " twice");
    if (r.kind == ReceiptKind::fallback) fallback = &r;
    if (r.kind == ReceiptKind::load_failed) failed_load = &r;
    if (r.kind == ReceiptKind::active) seen.active.insert(r.pid);
    if (r.call.slot != q.slot || r.call.variant != q.variant) continue;
    switch (r.kind) {
      case ReceiptKind::completed:
        (r.phase() == "captured" ? seen.captured : seen.completed).insert(r.pid);
        break;
      case ReceiptKind::replayed:
        if (const auto* n = std::get_if<std::int64_t>(&r.detail.at("replays")); n && *n >= q.least_replays)
          seen.replayed.insert(r.pid);
        break;
      case ReceiptKind::aot_loaded:
        seen.loaded.insert(r.pid);
        break;
      case ReceiptKind::aot_invoked:
        seen.invoked.insert(r.pid);
        break;
      default:
        break;
    }
    seen.executions += r.kind == ReceiptKind::completed || r.kind == ReceiptKind::replayed;
  }
  std::set<std::int64_t> ranks;
  for (const auto& [pid, rank] : rank_of)
    if (!ranks.insert(rank).second) return unobserved("two processes report one rank");

  if (failed_load)
    return {ExecutionState::disqualified,
            Undecided{Undecided::By::infrastructure, "a rank could not load the library, and others could"}};
  if (fallback)
    return {ExecutionState::disqualified, CandidateFailed{"stock served after the candidate failed: " +
                                                          std::get<std::string>(fallback->detail.at("message"))}};
  const auto all = static_cast<std::size_t>(q.ranks);
  if (seen.active.size() != all)
    return unobserved("the library was loaded and enabled on " + counted(seen.active.size(), q.ranks));
  if (!rank_of.empty() && ranks.size() != all)
    return unobserved(counted(ranks.size(), q.ranks) + " report who they are");
  if (seen.executions == 0) {
    if (!q.scope_present) return unobserved("the launch never began this generation of the library");
    if (!q.reachable)
      return {
          ExecutionState::silent,
          Undecided{Undecided::By::validator, "the slot is not reached in this arena: admission should have refused"}};
    return {ExecutionState::silent,
            CandidateFailed{"never_executed: loaded on every rank, and nothing of it completed"}};
  }
  const auto partial = [&](const char* what, std::size_t n) {
    return ExecutionFact{ExecutionState::partial,
                         Undecided{Undecided::By::infrastructure, std::string(what) + " on " + counted(n, q.ranks)}};
  };
  if ((!seen.loaded.empty() || !seen.invoked.empty()) && (seen.loaded.size() != all || seen.invoked.size() != all))
    return partial("the sealed artifact was loaded and invoked", std::min(seen.loaded.size(), seen.invoked.size()));
  std::set<std::int64_t> completed = seen.completed;
  completed.insert(seen.captured.begin(), seen.captured.end());
  if (completed.size() != all) return partial("completed", completed.size());
  // A capture enqueues and runs nothing: by itself it is no execution, graph or not.
  if ((q.graph_claimed || seen.completed.size() != all) && seen.replayed.size() != all)
    return partial("a graph was replayed often enough", seen.replayed.size());
  return {ExecutionState::complete, Passed{}};
}

}  // namespace assay
