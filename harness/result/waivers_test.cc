#include "harness/result/waivers.hpp"

#include <gtest/gtest.h>

#include "harness/result/forged_test.hpp"

namespace assay {
namespace {

constexpr const char* kGood = R"(# why: the table of gates is rounded once more
[[waiver]]
rule = "number.bound"
slot = "norm.rmsnorm"
variant = "rows"
reason = "bound"
owner = "kernels@example.org"
tracker = "https://tracker.example.org/1234"
expires = 2026-12-31

[[waiver]]
rule = "write.only_cells"
slot = "norm.rmsnorm"
variant = "rows"
reason = "stray_write"
owner = "kernels@example.org"
tracker = "https://tracker.example.org/1235"
expires = 2026-11-28
)";

Waivers good() { return Waivers::parse(kGood, "waivers.toml", "2026-11-29"); }

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string refusal(const std::string& text) {
  try {
    (void)Waivers::parse(text, "waivers.toml", "2026-11-29");
  } catch (const WaiverError& error) {
    return error.what();
  }
  return "accepted";
}

RuleRecord failing(const std::string& rule, Reason reason) {
  RuleRecord r = forged_rule(rule, Verdict::fail);
  r.reason = reason;
  r.text = "2 cells are wrong";
  return r;
}

TEST(Waivers, AWaivedFailureIsWaivedForItsReasonOnly) {
  RuleRecord r = failing("number.bound", Reason::bound);
  good().apply(r);
  EXPECT_EQ(r.verdict, Verdict::waived);
  EXPECT_EQ(r.reason, Reason::bound);
  EXPECT_EQ(r.text, "until 2026-12-31 by kernels@example.org, https://tracker.example.org/1234: 2 cells are wrong");
  r = failing("number.bound", Reason::crash);
  good().apply(r);
  EXPECT_EQ(r.verdict, Verdict::fail) << "a crash is not what was waived";
  r = failing("number.bound", Reason::bound);
  r.subject.variant = "general";
  good().apply(r);
  EXPECT_EQ(r.verdict, Verdict::fail) << "another variant's";
}

TEST(Waivers, AnExpiredOneFails) {
  RuleRecord r = failing("write.only_cells", Reason::stray_write);
  good().apply(r);
  EXPECT_EQ(r.verdict, Verdict::fail);
  EXPECT_NE(r.text.find("expired on 2026-11-28"), std::string::npos) << r.text;
  r = failing("write.only_cells", Reason::stray_write);
  Waivers::parse(kGood, "waivers.toml", "2026-11-28").apply(r);
  EXPECT_EQ(r.verdict, Verdict::waived) << "the last day counts";
}

TEST(Waivers, OnlyAFailIsWaived) {
  for (const Verdict v : {Verdict::pass, Verdict::no_decision, Verdict::vacuous, Verdict::not_applicable}) {
    RuleRecord r = forged_rule("number.bound", v);
    r.reason = Reason::bound;
    good().apply(r);
    EXPECT_EQ(r.verdict, v);
  }
}

TEST(Waivers, WhatHoldsEverywhereIsAnUnexpectedPass) {
  RunResults results;
  results.has_run = true;
  results.run = forged_run();
  results.rules = {forged_rule("number.bound", Verdict::pass, "fp16"),
                   forged_rule("number.bound", Verdict::waived, "bf16")};
  EXPECT_TRUE(good().unexpected(results).empty()) << "one dtype still needs it";
  results.rules[1].verdict = Verdict::pass;
  const auto passes = good().unexpected(results);
  ASSERT_EQ(passes.size(), 1u);
  EXPECT_EQ(passes[0].verdict, Verdict::unexpected_pass);
  EXPECT_EQ(passes[0].subject.rule, "number.bound");
  EXPECT_NE(passes[0].text.find("waivers.toml, line 2"), std::string::npos) << passes[0].text;
  results.rules.push_back(passes[0]);
  EXPECT_EQ(end_for(results).verdict, "PASS");
  results.run.gate = forged_gate();
  EXPECT_EQ(end_for(results).verdict, "FAIL");
  const auto unused = good().unused(results);
  ASSERT_EQ(unused.size(), 1u);
  EXPECT_NE(unused[0].find("line 11"), std::string::npos) << unused[0];
}

TEST(Waivers, AMalformedFileIsRefusedWithLineAndField) {
  const struct {
    std::string text;
    const char* words[2];
  } cases[] = {
      {with(kGood, "owner = \"kernels@example.org\"\n", ""), {"line 2", "owner"}},
      {with(kGood, "reason = \"bound\"", "reason = \"bad luck\""), {"line 6", "bad luck"}},
      {with(kGood, "reason = \"bound\"", "reason = \"killed\""), {"line 6", "nothing to waive"}},
      {with(kGood, "reason = \"bound\"", "reason = 7"), {"line 6", "reason"}},
      {with(kGood, "2026-12-31", "\"2026-12-31\""), {"line 9", "expires"}},
      {with(kGood, "2026-12-31", "2026-13-31"), {"line 9", ""}},
      {with(kGood, "2026-12-31", "2026-12-31T00:00:00Z"), {"line 9", "expires"}},
      {with(kGood, "https://tracker.example.org/1234", "1234"), {"line 8", "tracker"}},
      {with(kGood, "variant = \"rows\"", "variant = \"\""), {"line 5", "variant"}},
      {with(kGood, "variant = \"rows\"", "variant = \"rows\"\nvariant = \"x\""), {"line 6", "variant"}},
      {with(kGood, "variant = \"rows\"", "variant = \"rows\"\ndtype = \"fp16\""), {"line 6", "dtype"}},
      {with(kGood, "[[waiver]]", "[waiver]"), {"line", "waiver"}},
      {with(kGood, "[[waiver]]", "[[waivers]]"), {"line 2", "waivers"}},
      {"waiver = 1\n", {"line 1", "waiver"}},
      {"waiver = [1]\n", {"line 1", "waiver"}},
      {std::string(kGood) + kGood, {"line", "same reason"}},
      {"[[waiver]\n", {"line 1", ""}},
      {"a = " + std::string(4000, '[') + "\n", {"line 1", ""}},
  };
  for (const auto& c : cases) {
    const std::string why = refusal(c.text);
    EXPECT_EQ(why.find("waivers.toml, "), 0u) << why << "\n" << c.text.substr(0, 400);
    for (const char* word : c.words)
      EXPECT_NE(why.find(word), std::string::npos) << why << "\n" << c.text.substr(0, 400);
    EXPECT_EQ(why.find('\n'), std::string::npos) << why;
  }
  EXPECT_EQ(refusal(kGood), "accepted");
  EXPECT_EQ(refusal(""), "accepted") << "no waivers is a file, too";
}

}  // namespace
}  // namespace assay
