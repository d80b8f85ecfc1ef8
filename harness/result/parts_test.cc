#include "harness/result/parts.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

RuleRecord rule(Verdict verdict, std::int64_t judged, std::int64_t evidence, Reason reason = Reason::none) {
  RuleRecord r;
  r.subject = {"norm.rmsnorm", "v", "host", "bf16", "write.only_cells", 1};
  r.verdict = verdict;
  r.judged = judged;
  r.evidence = evidence;
  r.reason = reason;
  return r;
}

FailureRecord failure(const std::string& trial, bool minimal, const std::string& confirmed) {
  FailureRecord f;
  f.subject = rule(Verdict::fail, 1, 1).subject;
  f.reason = Reason::out_of_bounds;
  f.text = "text of " + trial;
  f.trial_text = trial;
  f.trial = nlohmann::json::object();
  f.minimal = minimal;
  f.confirmed = confirmed;
  return f;
}

RunResults results_of(const std::vector<std::string>& lines) {
  RunResults r;
  r.has_run = true;
  for (const std::string& line : lines) add_line(r, line);
  return r;
}

TEST(Parts, ARuleIsSaidOnceEveryPartHasSaidIt) {
  PartMerger merger(3);
  EXPECT_TRUE(merger.take(to_json(rule(Verdict::pass, 4, 2)).dump()).empty());
  EXPECT_TRUE(merger.take(to_json(rule(Verdict::not_applicable, 0, 0, Reason::no_case)).dump()).empty());
  const RunResults r = results_of(merger.take(to_json(rule(Verdict::pass, 5, 3)).dump()));
  ASSERT_EQ(r.rules.size(), 1U);
  EXPECT_EQ(r.rules[0].verdict, Verdict::pass);
  EXPECT_EQ(r.rules[0].judged, 9);
  EXPECT_EQ(r.rules[0].evidence, 5);
  EXPECT_TRUE(merger.rest().empty());
}

TEST(Parts, NoPartsPassOutweighsAnothersFailure) {
  for (const auto& [verdicts, expected] : std::vector<std::pair<std::vector<RuleRecord>, Verdict>>{
           {{rule(Verdict::pass, 1, 1), rule(Verdict::fail, 1, 1)}, Verdict::fail},
           {{rule(Verdict::no_decision, 1, 0, Reason::harness), rule(Verdict::fail, 1, 1)}, Verdict::fail},
           {{rule(Verdict::pass, 1, 1), rule(Verdict::no_decision, 1, 0, Reason::harness)}, Verdict::no_decision},
           {{rule(Verdict::pass, 1, 1), rule(Verdict::no_decision, 0, 0, Reason::no_case)}, Verdict::pass},
           {{rule(Verdict::not_applicable, 0, 0), rule(Verdict::no_decision, 0, 0, Reason::no_case)},
            Verdict::no_decision},
           {{rule(Verdict::vacuous, 3, 0), rule(Verdict::pass, 3, 1)}, Verdict::pass},
           {{rule(Verdict::vacuous, 3, 0), rule(Verdict::not_applicable, 0, 0)}, Verdict::vacuous},
       })
    EXPECT_EQ(merged(verdicts).verdict, expected) << name_of(expected);
}

TEST(Parts, OfSeveralFailuresTheConfirmedMinimalOneIsKept) {
  PartMerger merger(2);
  EXPECT_TRUE(merger.take(to_json(failure("small but flaky", true, "flaky: 1 of 5")).dump()).empty());
  EXPECT_TRUE(merger.take(to_json(rule(Verdict::fail, 1, 1, Reason::flaky)).dump()).empty());
  EXPECT_TRUE(merger.take(to_json(failure("confirmed", true, "fresh worker")).dump()).empty());
  const RunResults r = results_of(merger.take(to_json(rule(Verdict::fail, 1, 1, Reason::out_of_bounds)).dump()));
  ASSERT_EQ(r.failures.size(), 1U);
  EXPECT_EQ(r.failures[0].trial_text, "confirmed");
  ASSERT_EQ(r.rules.size(), 1U);
  EXPECT_EQ(r.rules[0].reason, Reason::out_of_bounds);
  EXPECT_EQ(r.rules[0].text, "text of confirmed");
}

// A part that failed and left its failure to another has no doubt of its own.
TEST(Parts, AnothersFlakyFailureTakesNoCertaintyAway) {
  PartMerger merger(3);
  EXPECT_TRUE(merger.take(to_json(failure("a", true, "flaky: 2 of 5")).dump()).empty());
  EXPECT_TRUE(merger.take(to_json(rule(Verdict::fail, 1, 1, Reason::flaky)).dump()).empty());
  EXPECT_TRUE(merger.take(to_json(rule(Verdict::fail, 1, 1, Reason::mismatch)).dump()).empty());
  const RunResults r = results_of(merger.take(to_json(rule(Verdict::pass, 1, 1)).dump()));
  ASSERT_EQ(r.failures.size(), 1U);
  EXPECT_EQ(r.rules[0].reason, Reason::mismatch);
}

TEST(Parts, AFailureIsKeptWhereTheRunEndsEarly) {
  PartMerger merger(2);
  (void)merger.take(to_json(failure("one", true, "fresh worker")).dump());
  (void)merger.take(to_json(rule(Verdict::fail, 1, 1)).dump());
  const RunResults r = results_of(merger.rest());
  EXPECT_EQ(r.failures.size(), 1U);
  EXPECT_EQ(r.rules.size(), 1U);
}

TEST(Parts, APassOfSomePartsIsNoPass) {
  PartMerger merger(2);
  (void)merger.take(to_json(rule(Verdict::pass, 1, 1)).dump());
  EXPECT_TRUE(merger.rest().empty());
}

TEST(Parts, CasesAddUpAndTrialsPassThrough) {
  PartMerger merger(2);
  CasesRecord cases{{"norm.rmsnorm", "v", "host", "bf16", "", 1}, 5, 1};
  EXPECT_TRUE(merger.take(to_json(cases).dump()).empty());
  const RunResults r = results_of(merger.take(to_json(cases).dump()));
  ASSERT_EQ(r.cases.size(), 1U);
  EXPECT_EQ(r.cases[0].distinct, 10);
  EXPECT_EQ(r.cases[0].outside_domain, 2);
  EXPECT_EQ(merger.take("{\"kind\":\"trial\"}").size(), 1U);
}

}  // namespace
}  // namespace assay
