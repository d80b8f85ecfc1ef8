// Runs fixtures/receipt_vectors.json: the specification's vectors for what receipts prove.
#include "harness/receipt/coverage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"
#include "harness/receipt/forged_test.hpp"

namespace assay {
namespace {

using nlohmann::json;

const json& vectors() {
  static const json all = [] {
    std::ifstream file(ASSAY_FIXTURES "/receipt_vectors.json");
    std::ostringstream text;
    text << file.rdbuf();
    return parse_strict(text.str(), "fixtures/receipt_vectors.json");
  }();
  return all;
}

CoverageQuestion forged_question(std::int64_t ranks = 4) {
  CoverageQuestion q;
  q.slot = forged_call().slot;
  q.variant = forged_call().variant;
  q.ranks = ranks;
  return q;
}

TEST(ReceiptVectors, CoverageIsGradedAsSpecified) {
  std::map<std::string, int> states;
  for (const json& vector : vectors()["coverage"]) {
    SCOPED_TRACE("vector " + vector["id"].get<std::string>());
    CoverageQuestion q = forged_question();
    const json asked = vector.value("question", json::object());
    q.ranks = asked.value("ranks", q.ranks);
    q.graph_claimed = asked.value("graph_claimed", false);
    q.root_present = asked.value("root_present", true);
    q.scope_present = asked.value("scope_present", true);
    q.reachable = asked.value("reachable", true);
    q.refused = asked.value("refused", std::vector<std::string>());
    std::vector<Receipt> receipts;
    for (const json& row : vector["receipts"])
      for (int rank = 0; rank < row["ranks"].get<int>(); ++rank) {
        Receipt r = forged_receipt(receipt_kind_from(row["kind"].get<std::string>()), rank, 4);
        if (row.contains("phase")) r.detail["phase"] = row["phase"].get<std::string>();
        if (row.contains("replays")) r.detail["replays"] = row["replays"].get<std::int64_t>();
        if (row.contains("variant")) r.call.variant = row["variant"].get<std::string>();
        if (row.value("unknown_rank", false)) r.rank = r.world_size = -1;
        (void)encode(r, forged_ticket().key);  // a legal one
        receipts.push_back(r);
      }
    const ExecutionFact fact = execution_fact(q, receipts);
    EXPECT_EQ(name_of(fact.state), vector["state"].get<std::string>()) << why_of(fact.decision);
    EXPECT_EQ(name_of(verdict_of(fact.decision)), vector["verdict"].get<std::string>()) << why_of(fact.decision);
    EXPECT_EQ(name_of(attribution_of(fact.decision)), vector["attribution"].get<std::string>());
    EXPECT_EQ(why_of(fact.decision).empty(), fact.state == ExecutionState::complete);
    ++states[std::string(name_of(fact.state))];
  }
  EXPECT_EQ(states.size(), 5u) << "a state has no vector";
}

TEST(ReceiptVectors, EachScopeOfAProcessEmitsItsOwn) {
  const json& vector = vectors()["scopes"];
  ReceiptMint mint;
  for (const json& scope : vector["of_one_process"]) {
    LaunchTicket ticket = forged_ticket();
    ticket.scope = scope.get<std::string>();
    mint.open(ticket, forged_digest('a'), "host model");
    for (const json& kind : vector["each_emits"]) {
      const Receipt like = forged_receipt(receipt_kind_from(kind.get<std::string>()));
      EXPECT_TRUE(mint.mint(like.kind, like.call, like.detail)) << scope << kind;
    }
  }
}

// Whatever is lost, added or changed: only full coverage without a fallback passes, and only complete observations
// fail.
TEST(Coverage, AnyInjectedFailureOfOneRankIsNoPass) {
  holds("one rank's failure is no pass", 2000, [] {
    const auto world = *rc::gen::inRange<std::int64_t>(1, 9);
    const bool graph = *rc::gen::arbitrary<bool>();
    CoverageQuestion q = forged_question(world);
    q.graph_claimed = graph;
    std::vector<Receipt> receipts;
    for (std::int64_t rank = 0; rank < world; ++rank)
      for (const ReceiptKind kind :
           {ReceiptKind::active, ReceiptKind::fired, ReceiptKind::completed, ReceiptKind::replayed})
        receipts.push_back(forged_receipt(kind, rank, world));
    RC_ASSERT(execution_fact(q, receipts).state == ExecutionState::complete);
    const auto whose = *rc::gen::inRange<std::int64_t>(0, world);
    const auto at = [&](ReceiptKind kind) {
      return std::find_if(receipts.begin(), receipts.end(),
                          [&](const Receipt& r) { return r.rank == whose && r.kind == kind; });
    };
    Attribution least = Attribution::infrastructure;
    switch (*rc::gen::inRange(0, 7)) {
      case 0:
        receipts.erase(at(ReceiptKind::active));
        break;
      case 1:
        receipts.erase(at(ReceiptKind::completed));
        if (!graph) break;
        receipts.erase(at(ReceiptKind::replayed));
        break;
      case 2:
        q.graph_claimed = true;
        receipts.erase(at(ReceiptKind::replayed));
        break;
      case 3:
        receipts.push_back(forged_receipt(ReceiptKind::fallback, whose, world));
        least = Attribution::candidate;
        break;
      case 4:
        receipts.push_back(forged_receipt(ReceiptKind::load_failed, whose, world));
        break;
      case 5:
        at(ReceiptKind::completed)->launch_nonce = std::string(32, '1');
        break;
      default:
        receipts.push_back(*at(ReceiptKind::completed));
        break;
    }
    const ExecutionFact fact = execution_fact(q, receipts);
    RC_ASSERT(fact.state != ExecutionState::complete);
    RC_ASSERT(verdict_of(fact.decision) != Verdict::pass);
    // A rank alone that completed nothing is all ranks, and silent.
    if (fact.state == ExecutionState::silent) least = Attribution::candidate;
    RC_ASSERT(attribution_of(fact.decision) == least);
  });
}

}  // namespace
}  // namespace assay
