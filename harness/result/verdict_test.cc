#include "harness/result/verdict.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

namespace assay {
namespace {

constexpr int kLastVerdict = static_cast<int>(Verdict::no_decision);
constexpr int kLastReason = static_cast<int>(Reason::interrupted);

TEST(Verdicts, NameAndValueAreOneToOne) {
  std::set<std::string_view> names;
  for (int i = 0; i <= kLastVerdict; ++i) {
    const auto v = static_cast<Verdict>(i);
    EXPECT_EQ(verdict_from(name_of(v)), v);
    names.insert(name_of(v));
  }
  EXPECT_EQ(names.size(), 8U);
}

TEST(Verdicts, EachDoesOneThingToARunAtMost) {
  for (int i = 0; i <= kLastVerdict; ++i) {
    const auto v = static_cast<Verdict>(i);
    EXPECT_LE(int{fails_run(v)} + int{undecides_run(v)} + int{passes_run(v)}, 1) << name_of(v);
  }
  EXPECT_TRUE(fails_run(Verdict::fail));
  EXPECT_TRUE(undecides_run(Verdict::vacuous));
  EXPECT_TRUE(undecides_run(Verdict::no_decision));
  EXPECT_TRUE(passes_run(Verdict::numerical_pass));
  EXPECT_FALSE(passes_run(Verdict::waived));
  EXPECT_FALSE(passes_run(Verdict::not_applicable));
}

TEST(Verdicts, OtherSpellingsAreRefused) {
  for (const char* name : {"", "pass", "PASSED", "PASS ", "OK"}) {
    EXPECT_THROW((void)verdict_from(name), std::invalid_argument) << name;
  }
}

TEST(Reasons, NameAndValueAreOneToOne) {
  std::set<std::string_view> names;
  for (int i = 0; i <= kLastReason; ++i) {
    const auto r = static_cast<Reason>(i);
    EXPECT_EQ(reason_from(name_of(r)), r);
    names.insert(name_of(r));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kLastReason) + 1);
  EXPECT_THROW((void)reason_from("Crash"), std::invalid_argument);
}

// Names are stable: waivers, planted faults and old results spell them so.
TEST(Reasons, TheNamesOfTheFirstAndLastOfEachGroupStay) {
  EXPECT_EQ(name_of(Reason::crash), "crash");
  EXPECT_EQ(name_of(Reason::corrupts_worker), "corrupts_worker");
  EXPECT_EQ(name_of(Reason::entry_failed), "entry_failed");
  EXPECT_EQ(name_of(Reason::split_differs), "split_differs");
  EXPECT_EQ(name_of(Reason::unordered), "unordered");
  EXPECT_EQ(name_of(Reason::undeclared), "undeclared");
  EXPECT_EQ(name_of(Reason::killed), "killed");
  EXPECT_EQ(name_of(Reason::interrupted), "interrupted");
}

TEST(Reasons, WhatTheMachineDoesNeverFailsTheCandidate) {
  for (const Reason r : {Reason::killed, Reason::no_device, Reason::harness, Reason::flaky, Reason::interrupted}) {
    EXPECT_EQ(verdict_of(r), Verdict::no_decision) << name_of(r);
  }
}

TEST(Reasons, WhatTheCandidateDoesFails) {
  for (int i = static_cast<int>(Reason::crash); i <= static_cast<int>(Reason::undeclared); ++i) {
    EXPECT_EQ(verdict_of(static_cast<Reason>(i)), Verdict::fail) << name_of(static_cast<Reason>(i));
  }
}

TEST(Reasons, AbsentEvidenceIsNeitherPassNorFail) {
  EXPECT_EQ(verdict_of(Reason::none), Verdict::pass);
  EXPECT_EQ(verdict_of(Reason::vacuous), Verdict::vacuous);
  EXPECT_EQ(verdict_of(Reason::no_case), Verdict::vacuous);
  EXPECT_EQ(verdict_of(Reason::outside_domain), Verdict::not_applicable);
  EXPECT_EQ(verdict_of(Reason::no_graph_proof), Verdict::numerical_pass);
}

}  // namespace
}  // namespace assay
