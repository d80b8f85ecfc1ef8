#include "harness/receipt/receipt.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"
#include "harness/receipt/forged_test.hpp"

namespace assay {
namespace {

using nlohmann::json;

TEST(ReceiptMint, SaysWhoItIsAndOnceAKind) {
  ReceiptMint mint;
  mint.open(forged_ticket(1, 4), forged_digest('a'), "host model");
  EXPECT_TRUE(mint.mint(ReceiptKind::fired, forged_call()));
  EXPECT_FALSE(mint.mint(ReceiptKind::fired, forged_call())) << "once a launch";
  CallIdentity other = forged_call();
  other.variant = "general";
  EXPECT_TRUE(mint.mint(ReceiptKind::fired, other)) << "another variant has its own";
  const auto lines = mint.take();
  ASSERT_EQ(lines.size(), 2u);
  const Receipt first = decode(lines[0]), second = decode(lines[1]);
  EXPECT_EQ(first.pid, ::getpid());
  EXPECT_EQ(first.rank, 1);
  EXPECT_EQ(first.world_size, 4);
  EXPECT_EQ(first.artifact_digest, forged_digest('a'));
  EXPECT_EQ(first.call, forged_call());
  EXPECT_EQ(first.seq, 0);
  EXPECT_EQ(second.seq, 1);
  EXPECT_TRUE(sealed_with(lines[0], forged_ticket(1, 4).key));
  EXPECT_FALSE(sealed_with(lines[0], std::string(64, '0')));
  EXPECT_TRUE(mint.take().empty());
}

TEST(ReceiptMint, ACapturedCompletionDoesNotSwallowAnEagerOne) {
  ReceiptMint mint;
  mint.open(forged_ticket(), forged_digest('a'), "host model");
  EXPECT_TRUE(mint.mint(ReceiptKind::completed, forged_call(), {{"phase", "captured"}, {"nodes", std::int64_t{3}}}));
  EXPECT_TRUE(mint.mint(ReceiptKind::completed, forged_call(), {{"phase", "eager"}, {"nodes", std::int64_t{-1}}}));
  EXPECT_FALSE(mint.mint(ReceiptKind::completed, forged_call(), {{"phase", "eager"}, {"nodes", std::int64_t{1}}}));
}

TEST(ReceiptMint, WithoutALaunchNothingIsMintedAndNothingIsUsedUp) {  // RC-1
  ReceiptMint mint;
  EXPECT_FALSE(mint.mint(ReceiptKind::fired, forged_call()));
  mint.open(forged_ticket(), forged_digest('a'), "host model");
  EXPECT_TRUE(mint.mint(ReceiptKind::fired, forged_call()));
}

TEST(ReceiptMint, WhatCannotBeWrittenIsNotUsedUpAndNeverThrows) {  // RC-2, RC-4
  ReceiptMint mint;
  mint.open(forged_ticket(), forged_digest('a'), "host model");
  EXPECT_FALSE(mint.mint(ReceiptKind::completed, forged_call(), {{"phase", "sideways"}, {"nodes", std::int64_t{1}}}));
  EXPECT_FALSE(mint.mint(ReceiptKind::completed, forged_call(), {{"phase", "eager"}, {"nodes", std::int64_t{0}}}))
      << "nothing was enqueued: no event lies behind it";
  EXPECT_TRUE(mint.mint(ReceiptKind::completed, forged_call(), {{"phase", "eager"}, {"nodes", std::int64_t{1}}}));
  EXPECT_EQ(decode(mint.take().front()).seq, 0);
}

TEST(ReceiptMint, AnotherScopeOfOneProcessEmitsItsOwn) {  // vector 60
  ReceiptMint mint;
  LaunchTicket ticket = forged_ticket();
  for (const char* scope : {"g1", "g2"}) {
    ticket.scope = scope;
    mint.open(ticket, forged_digest(*scope == 'g' ? 'a' : 'b'), "host model");
    EXPECT_TRUE(mint.mint(ReceiptKind::fired, forged_call())) << scope;
    EXPECT_TRUE(mint.mint(ReceiptKind::completed, forged_call(), {{"phase", "eager"}, {"nodes", std::int64_t{1}}}));
  }
  const auto lines = mint.take();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(decode(lines[3]).seq, 3) << "a sequence is the launch's";
  EXPECT_EQ(decode(lines[3]).scope, "g2");
}

TEST(ReceiptMint, AScopeThatIsNoneIsRefused) {  // RC-3
  for (const char* scope : {"", "-g1", ".g1", "g1/../g2", " g"}) {
    LaunchTicket ticket = forged_ticket();
    ticket.scope = scope;
    EXPECT_THROW(ReceiptMint().open(ticket, forged_digest('a'), ""), std::invalid_argument) << scope;
  }
}

TEST(ReceiptMint, AMessageOfAnyBytesIsCutAndRepaired) {
  holds("any error text makes a fallback receipt", 500, [] {
    const std::string text = *rc::gen::arbitrary<std::string>() + std::string(*rc::gen::inRange(0, 600), '\xC3');
    ReceiptMint mint;
    mint.open(forged_ticket(), forged_digest('a'), "host model");
    RC_ASSERT(mint.mint(ReceiptKind::fallback, forged_call(), {{"error_type", "entry_failed"}, {"message", text}}));
    const Receipt read = decode(mint.take().front());
    RC_ASSERT(std::get<std::string>(read.detail.at("message")).size() <= receipt_message_limit);
  });
}

TEST(Receipt, ReadsBackWhatWasWritten) {
  for (const Receipt& receipt : forged_receipts()) {
    const std::string line = encode(receipt, forged_ticket().key);
    EXPECT_EQ(decode(line), receipt) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(Receipt, AnyLineThatIsNotOneIsRefusedWithASentence) {
  const std::string good = encode(forged_receipts().front(), forged_ticket().key);
  const auto edited = [&](auto&& edit) {
    json object = parse_strict(good, "test");
    edit(object);
    return canonical(object);
  };
  const std::vector<std::string> lines = {"",
                                          "[]",
                                          "{}",
                                          good + " ",
                                          " " + good,
                                          good.substr(1),
                                          edited([](json& j) { j["extra"] = 1; }),
                                          edited([](json& j) { j.erase("seal"); }),
                                          edited([](json& j) { j["kind"] = "passed"; }),
                                          edited([](json& j) { j["schema"] = 2; }),
                                          edited([](json& j) { j["rank"] = 4; }),
                                          edited([](json& j) { j["rank"] = -1; }),
                                          edited([](json& j) { j["seq"] = 18446744073709551615u; }),
                                          edited([](json& j) { j["pid"] = 1.0; }),
                                          edited([](json& j) { j["launch_nonce"] = "0"; }),
                                          edited([](json& j) { j["artifact_digest"] = std::string(64, '0'); }),
                                          edited([](json& j) { j["detail"]["slots"] = json::array(); }),
                                          edited([](json& j) { j["detail"]["n"] = 1; }),
                                          edited([](json& j) { j["slot"] = "norm.rmsnorm"; })};
  for (const std::string& line : lines) EXPECT_THROW((void)decode(line), ReceiptRefused) << line;
  EXPECT_NO_THROW((void)decode(good));
}

}  // namespace
}  // namespace assay
