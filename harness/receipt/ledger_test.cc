#include "harness/receipt/ledger.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"
#include "harness/receipt/forged_test.hpp"

namespace assay {
namespace {

using nlohmann::json;

const DetailValue one = std::int64_t{1};

// A launch of two ranks whose mints are in this process.
struct Launch {
  ReceiptLedger ledger{2, forged_digest('a')};
  ReceiptMint mints[2];
  Launch() {
    for (int rank = 0; rank < 2; ++rank) mints[rank].open(ledger.ticket(rank), forged_digest('a'), "host model");
    ledger.name(forged_call());
  }
  std::string mint(int rank, ReceiptKind kind, const CallIdentity& call = forged_call(), ReceiptDetail detail = {}) {
    EXPECT_TRUE(mints[rank].mint(kind, is_of_a_call(kind) ? call : CallIdentity{}, std::move(detail)));
    return mints[rank].take().front();
  }
  bool take(int rank, const std::string& line) { return ledger.take(rank, ::getpid(), line); }
};

TEST(ReceiptLedger, TakesWhatItsRanksMintAndHandsItOn) {
  Launch launch;
  std::vector<std::string> written;
  launch.ledger.on_taken = [&](const std::string& line) { written.push_back(line); };
  EXPECT_TRUE(
      launch.take(0, launch.mint(0, ReceiptKind::active, {}, {{"slots", std::vector<std::string>{"norm.rmsnorm"}}})));
  const auto before = launch.ledger.book();
  EXPECT_TRUE(launch.take(0, launch.mint(0, ReceiptKind::fired)));
  EXPECT_FALSE(launch.ledger.has(ReceiptKind::fired, "norm.rmsnorm", "rows")) << "rank 1 has not";
  EXPECT_TRUE(launch.take(1, launch.mint(1, ReceiptKind::fired)));
  EXPECT_TRUE(launch.ledger.has(ReceiptKind::fired, "norm.rmsnorm", "rows"));
  EXPECT_EQ(before->receipts.size(), 1u) << "a book does not change under who holds it";
  EXPECT_EQ(launch.ledger.book()->receipts.size(), 3u);
  EXPECT_EQ(written.size(), 3u);
  EXPECT_TRUE(launch.ledger.book()->refused.empty());
}

TEST(ReceiptLedger, ReplayedForeignAndMissingOnesAreRefused) {
  Launch launch, other;
  const std::string first = launch.mint(0, ReceiptKind::fired);
  EXPECT_FALSE(launch.ledger.take(0, ::getpid() + 1, first)) << "another process sent it";
  EXPECT_FALSE(launch.take(1, first)) << "another rank sent it";
  EXPECT_FALSE(other.take(0, first)) << "another launch";
  EXPECT_TRUE(launch.take(0, first));
  EXPECT_FALSE(launch.take(0, first)) << "said before";
  (void)launch.mint(0, ReceiptKind::completed, forged_call(), {{"phase", "eager"}, {"nodes", one}});  // lost
  EXPECT_FALSE(launch.take(0, launch.mint(0, ReceiptKind::replayed, forged_call(),
                                          {{"replays", std::int64_t{2}}, {"inventory_digest", forged_digest('f')}})))
      << "one before it is missing";
  EXPECT_EQ(launch.ledger.book()->receipts.size(), 1u);
  EXPECT_EQ(launch.ledger.book()->refused.size(), 4u);
  CallIdentity unknown = forged_call();
  unknown.variant = "general";
  EXPECT_FALSE(launch.take(1, launch.mint(1, ReceiptKind::fired, unknown))) << "no call of the judge's";
  EXPECT_NE(launch.ledger.book()->refused.back().find("a call that the judge did not make"), std::string::npos);
}

TEST(ReceiptLedger, AnotherArtifactsReceiptIsRefused) {
  Launch launch;
  ReceiptMint mint;
  mint.open(launch.ledger.ticket(0), forged_digest('b'), "host model");
  mint.mint(ReceiptKind::fired, forged_call());
  EXPECT_FALSE(launch.take(0, mint.take().front()));
  EXPECT_NE(launch.ledger.book()->refused.front().find("another library file"), std::string::npos);
  EXPECT_TRUE(launch.ledger.book()->another_file);
}

TEST(ReceiptLedger, AFloodOfBadLinesIsBounded) {
  Launch launch;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(launch.take(0, "{}"));
  EXPECT_LE(launch.ledger.book()->refused.size(), 16u);
}

// receipt.bound: whoever lacks the key cannot change anything; whoever has it cannot change what binds.
json any_edit(json object) {
  std::vector<json::json_pointer> places;
  const json flat = object.flatten();
  for (const auto& [path, value] : flat.items()) places.emplace_back(path);
  const auto place = places[static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(places.size())))];
  json& value = object[place];
  const json before = value;
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      if (value.is_string()) {
        std::string text = value;
        if (text.empty()) {
          value = "x";
        } else {
          char& c = text[static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(text.size())))];
          c = c == '1' ? '2' : '1';
          value = text;
        }
      } else {
        value = value.get<std::int64_t>() + *rc::gen::element<std::int64_t>(-1, 1, 2, 4096);
      }
      break;
    case 1:
      value = *rc::gen::element<json>(json("eager"), json(0), json(-1), json(7), json(nullptr), json("norm.rmsnorm"));
      break;
    default:
      object[json::json_pointer("/extra")] = 1;
  }
  RC_PRE(object.contains("extra") || object[place] != before);
  return object;
}

TEST(ReceiptLedger, AnyEditOfAReceiptIsRefused) {
  int edits = 0;
  holds("an edited receipt is refused", 3000, [&] {
    Launch launch;
    const std::string good =
        launch.mint(0, ReceiptKind::completed, forged_call(), {{"phase", "eager"}, {"nodes", one}});
    const json edited = any_edit(parse_strict(good, "test"));
    RC_ASSERT(!launch.take(0, canonical(edited)));
    RC_ASSERT(launch.ledger.book()->receipts.empty());
    RC_ASSERT(launch.ledger.book()->refused.size() == 1u);
    RC_ASSERT(launch.take(0, good));
    ++edits;
  });
  EXPECT_GE(edits, 3000);
}

TEST(ReceiptLedger, AForgerWithTheKeyCannotRebindWhatTheJudgeKnows) {
  holds("an edit of what binds is refused, sealed or not", 1000, [] {
    Launch launch;
    Receipt r = decode(launch.mint(0, ReceiptKind::fired));
    switch (*rc::gen::inRange(0, 10)) {
      case 0:
        r.launch_nonce = std::string(32, '1');
        break;
      case 1:
        r.scope = "g2";
        break;
      case 2:
        r.seq = *rc::gen::inRange<std::int64_t>(1, 100);
        break;
      case 3:
        r.pid += 1;
        break;
      case 4:
        r.rank = 1;
        break;
      case 5:
        r.world_size = 3;
        break;
      case 6:
        r.artifact_digest = forged_digest('b');
        break;
      case 7:
        r.call.slot = "activation.silu_and_mul";
        break;
      case 8:
        r.call.contract_digest = forged_digest('b');
        break;
      default:
        r.call.descriptor_digest = forged_digest('b');
        break;
    }
    RC_ASSERT(!launch.take(0, encode(r, launch.ledger.ticket(0).key)));
  });
}

}  // namespace
}  // namespace assay
