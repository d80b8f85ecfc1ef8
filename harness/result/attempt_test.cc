// Runs fixtures/verdict_vectors.json, and holds attempts and groups against second, naive forms under random failures.
#include "harness/result/attempt.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"

namespace assay {
namespace {

using nlohmann::json;
using S = PhaseState;

// FAIL without a candidate is no value of the type: the alternatives are these three, and the one that fails has no
// place for anybody else.
static_assert(std::is_same_v<AttributedVerdict, std::variant<Passed, CandidateFailed, Undecided>>);
static_assert(!std::is_constructible_v<CandidateFailed, Undecided::By>);

const json& vectors() {
  static const json all = [] {
    std::ifstream file(ASSAY_FIXTURES "/verdict_vectors.json");
    std::ostringstream text;
    text << file.rdbuf();
    return parse_strict(text.str(), "fixtures/verdict_vectors.json");
  }();
  return all;
}

ProductKind product_kind(const std::string& name) {
  for (const ProductKind k :
       {ProductKind::execution, ProductKind::graph, ProductKind::audit, ProductKind::speed, ProductKind::quality})
    if (name_of(k) == name) return k;
  throw std::invalid_argument(name);
}

AttributedVerdict decision_of(const json& product) {
  const std::string verdict = product["verdict"];
  if (verdict == "PASS") return Passed{};
  if (verdict == "FAIL") return CandidateFailed{"said so"};
  const Attribution by = attribution_from(product["attribution"].get<std::string>());
  return Undecided{by == Attribution::validator     ? Undecided::By::validator
                   : by == Attribution::measurement ? Undecided::By::measurement
                                                    : Undecided::By::infrastructure,
                   "said so"};
}

ProductIdentity identity_with(const json& changes) {
  return {changes.value("candidate", "a"), changes.value("contract", "b"), changes.value("stack", "c"),
          changes.value("arena", "d"), changes.value("attempt", "e")};
}

TEST(VerdictVectors, AttemptsConcludeAsSpecified) {
  for (const json& vector : vectors()["attempts"]) {
    SCOPED_TRACE("vector " + vector["id"].get<std::string>());
    Attempt attempt{identity_with(json::object()), vector.value("stack_is_current", true), {}};
    for (const json& kind : vector["required"]) attempt.required.push_back(product_kind(kind));
    std::vector<Product> products;
    for (const json& p : vector["products"])
      products.push_back({product_kind(p["kind"]), identity_with(p.value("bound_to", json::object())), decision_of(p)});
    do {
      const AttributedVerdict d = decide(attempt, products);
      EXPECT_EQ(name_of(verdict_of(d)), vector["verdict"].get<std::string>()) << why_of(d);
      EXPECT_EQ(name_of(attribution_of(d)), vector["attribution"].get<std::string>()) << why_of(d);
      EXPECT_EQ(why_of(d).find(vector.value("reason", "")), 0u) << why_of(d);
    } while (std::next_permutation(products.begin(), products.end(),
                                   [](const Product& a, const Product& b) { return a.kind < b.kind; }));
  }
}

PhaseRecord record_of(const json& row) {
  return PhaseRecord::make(phase_state_from(row[0].get<std::string>()), phase_state_from(row[1].get<std::string>()),
                           phase_state_from(row[2].get<std::string>()), row[3], row[4]);
}

TEST(VerdictVectors, GroupsConcludeAsSpecified) {
  for (const json& vector : vectors()["groups"]) {
    SCOPED_TRACE("vector " + vector["id"].get<std::string>());
    std::vector<std::optional<PhaseRecord>> ranks;
    for (const json& row : vector["ranks"])
      ranks.push_back(row.is_null() ? std::nullopt : std::optional(record_of(row)));
    const GroupOutcome g = group_outcome(ranks);
    EXPECT_EQ(name_of(g.phase), vector["phase"].get<std::string>());
    EXPECT_EQ(g.replays, vector["replays"].get<std::int64_t>());
    EXPECT_EQ(name_of(verdict_of(g.decision)), vector["verdict"].get<std::string>()) << why_of(g.decision);
    EXPECT_EQ(name_of(attribution_of(g.decision)), vector["attribution"].get<std::string>());
  }
}

TEST(VerdictVectors, WhatCannotHaveHappenedCannotBeMade) {
  for (const json& vector : vectors()["unrepresentable"])
    EXPECT_THROW((void)record_of(vector["record"]), std::invalid_argument) << vector["id"];
}

TEST(Retry, NoDecisionNeverDecaysIntoFail) {
  const AttributedVerdict open = Undecided{};
  EXPECT_EQ(retry_after(open, 1), Retry::complete_new_attempt);
  EXPECT_EQ(retry_after(open, 0), Retry::hold);
  EXPECT_EQ(retry_after(CandidateFailed{"why"}, 3), Retry::replay_from_record);
  EXPECT_EQ(retry_after(Passed{}, 3), Retry::none) << "a replayed PASS would be half a reproduction";
}

PhaseRecord any_record() {
  const auto state = [] { return static_cast<S>(*rc::gen::inRange(0, 4)); };
  while (true) {
    try {
      return PhaseRecord::make(state(), state(), state(), *rc::gen::inRange<std::int64_t>(0, 4),
                               *rc::gen::arbitrary<bool>());
    } catch (const std::invalid_argument&) {
    }
  }
}

// slots.md 10.6 read line by line, on the worst phase of each rank.
std::pair<std::string, std::string> naive(const std::vector<std::optional<PhaseRecord>>& ranks) {
  for (const auto& r : ranks)
    if (!r) return {"NO_DECISION", "before eager"};
  bool complete = true, eager = true, capture = true, replay = true, alike = true;
  std::string blamed;
  for (const auto& r : ranks) {
    complete = complete && r->complete();
    eager = eager && r->eager() == S::passed;
    capture = capture && r->capture() == S::passed;
    replay = replay && r->replay() == S::passed;
    alike = alike && r->replays() == ranks.front()->replays();
    const std::string here = r->eager() == S::candidate_failed     ? "eager"
                             : r->capture() == S::candidate_failed ? "capture"
                             : r->replay() == S::candidate_failed  ? "replay"
                                                                   : "";
    const auto order = [](const std::string& phase) { return std::string("ecr").find(phase[0]); };
    if (!here.empty() && (blamed.empty() || order(here) < order(blamed))) blamed = here;
  }
  if (!complete) return {"NO_DECISION", capture ? "replay" : eager ? "capture" : "before eager"};
  if (!blamed.empty()) return {"FAIL", blamed};
  if (!alike) return {"NO_DECISION", "replay"};
  if (replay) return {ranks.front()->replays() < 2 ? "NO_DECISION" : "PASS", "replay"};
  return {eager && !capture ? "PASS" : "NO_DECISION", eager && !capture ? "eager" : "before eager"};
}

TEST(Groups, AnyFailureOfAnyRankConcludesAsTheNaiveFormDoes) {
  std::map<std::string, int> seen;
  holds("group_outcome agrees with slots.md 10.6", 5000, [&] {
    std::vector<std::optional<PhaseRecord>> ranks;
    const PhaseRecord common = any_record();
    for (int i = *rc::gen::inRange(1, 9); i > 0; --i)
      ranks.push_back(*rc::gen::weightedElement<int>({{6, 0}, {3, 1}, {1, 2}}) == 0 ? std::optional(common)
                      : *rc::gen::inRange(0, 4)                                     ? std::optional(any_record())
                                                                                    : std::nullopt);
    const GroupOutcome g = group_outcome(ranks);
    const auto [verdict, phase] = naive(ranks);
    RC_ASSERT(name_of(verdict_of(g.decision)) == verdict);
    RC_ASSERT(name_of(g.phase) == phase);
    RC_ASSERT((attribution_of(g.decision) == Attribution::candidate) == (verdict == "FAIL"));
    ++seen[verdict + " " + phase];
  });
  EXPECT_GE(seen.size(), 8u) << "the generator misses outcomes";
}

TEST(Attempts, AnyProductsConcludeAsTheNaiveFormDoes) {
  holds("decide agrees with 10.2", 3000, [] {
    Attempt attempt{identity_with(json::object()), true, {}};
    std::vector<Product> products;
    bool fails = false, open = false;
    for (const ProductKind kind :
         {ProductKind::execution, ProductKind::graph, ProductKind::audit, ProductKind::speed, ProductKind::quality}) {
      const bool needed = *rc::gen::inRange(0, 4) != 0, there = *rc::gen::inRange(0, 6) != 0,
                 ours = *rc::gen::inRange(0, 6) != 0;
      const int what = *rc::gen::inRange(0, 6);
      if (needed) attempt.required.push_back(kind);
      Product p{kind, attempt.identity, Passed{}};
      if (what == 0) p.decision = CandidateFailed{"x"};
      if (what == 1) p.decision = Undecided{Undecided::By::measurement, "x"};
      if (!ours) p.identity.contract = "another";
      if (there) products.push_back(p);
      fails = fails || (there && ours && what == 0);
      open = open || (needed && (!there || !ours || what == 1));
    }
    const AttributedVerdict d = decide(attempt, products);
    const bool nothing_asked = attempt.required.empty();
    RC_ASSERT((verdict_of(d) == Verdict::fail) == fails);
    RC_ASSERT((verdict_of(d) == Verdict::pass) == (!fails && !open && !nothing_asked));
    RC_ASSERT((attribution_of(d) == Attribution::candidate) == fails);
  });
}

}  // namespace
}  // namespace assay
