// harness/receipt/forged_test.hpp: made-up receipts for tests.
//
// Promises: each is legal, and one of each kind is among forged_receipts().
// Who calls it: tests only.
#pragma once

#include <string>
#include <vector>

#include "harness/receipt/receipt.hpp"

namespace assay {

inline std::string forged_digest(char c) { return std::string(64, c); }

inline LaunchTicket forged_ticket(std::int64_t rank = 0, std::int64_t world = 1) {
  return {"g1", std::string(32, '7'), std::string(64, 'e'), rank, world};
}

inline CallIdentity forged_call() { return {"norm.rmsnorm", "rows", forged_digest('c'), forged_digest('d')}; }

inline Receipt forged_receipt(ReceiptKind kind, std::int64_t rank = 0, std::int64_t world = 1) {
  static const std::map<ReceiptKind, ReceiptDetail> details = {
      {ReceiptKind::active, {{"slots", std::vector<std::string>{"norm.rmsnorm"}}}},
      {ReceiptKind::load_failed, {{"reason", "no_symbol"}}},
      {ReceiptKind::aot_loaded,
       {{"artifact_id", "k"}, {"provider", "cubin"}, {"inventory_digest", forged_digest('f')}}},
      {ReceiptKind::aot_invoked, {{"artifact_id", "k"}, {"phase", "captured"}}},
      {ReceiptKind::completed, {{"phase", "eager"}, {"nodes", std::int64_t{1}}}},
      {ReceiptKind::replayed, {{"replays", std::int64_t{2}}, {"inventory_digest", forged_digest('f')}}},
      {ReceiptKind::fallback, {{"error_type", "entry_failed"}, {"message", "status 3"}}},
      {ReceiptKind::audit,
       {{"n", std::int64_t{16}},
        {"violations", std::int64_t{0}},
        {"compare_errors", std::int64_t{0}},
        {"worst_frac", "0.001"},
        {"min_ratio", "0.99"},
        {"mode", "matched_ratio"}}},
      {ReceiptKind::export_counters,
       {{"exports", std::int64_t{1}},
        {"consumed", std::int64_t{1}},
        {"orphans", std::int64_t{0}},
        {"stale_dropped", std::int64_t{0}},
        {"last_layer_vetoes", std::int64_t{0}}}},
      {ReceiptKind::teardown_failed, {{"reason", "destroy returned status 3"}}},
  };
  Receipt r;
  r.kind = kind;
  r.scope = forged_ticket().scope;
  r.launch_nonce = forged_ticket().nonce;
  r.pid = 1000 + rank;
  r.rank = rank;
  r.world_size = world;
  r.device = "host model";
  r.artifact_digest = forged_digest('a');
  if (is_of_a_call(kind)) r.call = forged_call();
  if (const auto at = details.find(kind); at != details.end()) r.detail = at->second;
  return r;
}

inline std::vector<Receipt> forged_receipts() {
  std::vector<Receipt> all;
  for (int k = 0; k <= static_cast<int>(ReceiptKind::teardown_failed); ++k)
    all.push_back(forged_receipt(static_cast<ReceiptKind>(k)));
  return all;
}

}  // namespace assay
