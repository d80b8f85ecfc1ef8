#include "harness/catalogue/transition.hpp"

#include <gtest/gtest.h>

#include "harness/case/rapid_test.hpp"
#include "harness/catalogue/sample_test.hpp"

namespace assay {
namespace {

using sample::Parts;

template <class Function>
std::string rule_of(Function f) {
  try {
    f();
  } catch (const TransitionRefused& error) {
    return error.rule();
  }
  return "accepted";
}

TEST(Transitions, ActiveSetsAndPlansFollowTheRelations) {
  const Catalogue c = Parts().make();
  const auto valid = [&](const ActiveTargets& active) { return rule_of([&] { check_active(c, active); }); };
  EXPECT_EQ(valid({}), "accepted");
  EXPECT_EQ(valid({"a", "b", "c", "d"}), "accepted");
  EXPECT_EQ(valid({"a", "ab"}), "TX-1");
  EXPECT_EQ(valid({"d"}), "TX-1");
  EXPECT_EQ(valid({"nobody"}), "TX-1");
  const Delta d = plan(c, c.digest(), {"a", "b", "c"}, "ab");
  EXPECT_EQ(d.displaced, (ActiveTargets{"a", "b"}));
  EXPECT_EQ(d.after, (ActiveTargets{"ab", "c"}));
  EXPECT_TRUE(plan(c, c.digest(), {"ab"}, "ab").displaced.empty());
  EXPECT_EQ(rule_of([&] { (void)plan(c, c.digest(), {"ab"}, "a"); }), "TX-4");
  EXPECT_EQ(rule_of([&] { (void)plan(c, c.digest(), {}, "d"); }), "TX-1");
  EXPECT_EQ(rule_of([&] { (void)plan(c, c.digest(), {}, "nobody"); }), "TX-1");
  EXPECT_EQ(rule_of([&] { (void)plan(c, std::string(64, '1'), {}, "a"); }), "TX-6");
}

// Against the words of TX-1 to TX-4, on every set of active targets and every proposal.
TEST(Transitions, APlanIsOneDeltaOrRefused) {
  const Catalogue c = Parts().make();
  const std::vector<std::string> all = {"a", "ab", "b", "c", "d"};
  int planned = 0;
  for (unsigned bits = 0; bits < 32; ++bits) {
    ActiveTargets active;
    for (unsigned i = 0; i < 5; ++i)
      if (bits >> i & 1U) active.insert(all[i]);
    const bool valid =
        !(active.count("ab") && (active.count("a") || active.count("b"))) && !(active.count("d") && !active.count("c"));
    EXPECT_EQ(rule_of([&] { check_active(c, active); }), valid ? "accepted" : "TX-1");
    for (const std::string& t : all) {
      const std::string expected = !valid                                         ? "TX-1"
                                   : active.count("ab") && (t == "a" || t == "b") ? "TX-4"
                                   : t == "d" && !active.count("c")               ? "TX-1"
                                                                                  : "accepted";
      Delta d;
      EXPECT_EQ(rule_of([&] { d = plan(c, c.digest(), active, t); }), expected) << t;
      if (expected != "accepted") continue;
      ++planned;
      EXPECT_EQ(d.after.count(t), 1u);
      for (const std::string& id : active) EXPECT_NE(d.after.count(id), d.displaced.count(id)) << id;
      for (const std::string& id : d.displaced) EXPECT_TRUE(t == "ab" && (id == "a" || id == "b") && active.count(id));
    }
  }
  EXPECT_GT(planned, 40);
}

TEST(Transitions, ACandidatesStackIsTheIncumbentsButForTheDelta) {
  const Delta d{"ab", {"a", "b"}, {"ab", "c"}};
  const Stack incumbent{{{"a", "1"}, {"b", "2"}, {"c", "3"}}, "s1", "t1"};
  const auto tried = [&](const Stack& s) { return rule_of([&] { check_stack(d, incumbent, s); }); };
  EXPECT_EQ(tried({{{"ab", "4"}, {"c", "3"}}, "s2", "t2"}), "accepted");
  for (const Stack& bad : {Stack{{{"ab", "4"}}, "s2", "t2"}, Stack{{{"ab", "4"}, {"c", "9"}}, "s2", "t2"},
                           Stack{{{"ab", "4"}, {"c", "3"}, {"d", "5"}}, "s2", "t2"},
                           Stack{{{"ab", "4"}, {"a", "1"}, {"c", "3"}}, "s2", "t2"}, Stack{{{"c", "3"}}, "s2", "t2"},
                           Stack{{{"ab", "4"}, {"c", "3"}}, "s1", "t2"}, Stack{{{"ab", "4"}, {"c", "3"}}, "s2", "t1"}})
    EXPECT_EQ(tried(bad), "TX-5");
}

TEST(Composition, TheRulesOrderAndTheIdsBreakTies) {
  Parts p;
  const Catalogue c = p.make();
  EXPECT_EQ(attempt_order(c, {"d", "c", "b", "ab"}, "f"), (std::vector<std::string>{"b", "c", "d"}));
  p.rules[0].precedence = {"d", "c"};
  EXPECT_EQ(attempt_order(p.make(), {"d", "c", "b"}, "f"), (std::vector<std::string>{"b", "d", "c"}));
  EXPECT_TRUE(attempt_order(c, {"c"}, "g").empty());
  std::vector<std::string> tried;
  const CallTaken taken = take_call(c, {"c", "d"}, "f", [&](const std::string& id) {
    tried.push_back(id);
    return id == "d";
  });
  EXPECT_EQ(taken.target, "d");
  EXPECT_EQ(tried, (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(take_call(c, {"c", "d"}, "f", [](const std::string&) { return false; }).target, "");
}

TEST(Composition, WhatReducesIsNotReducedAgain) {
  Parts p;
  p.at("c").contract->kind = "collective";
  const Catalogue c = p.make();
  EXPECT_FALSE(take_call(c, {"c", "d"}, "f", [](const std::string& id) { return id == "c"; }).stock_reduces);
  EXPECT_TRUE(take_call(c, {"c", "d"}, "f", [](const std::string& id) { return id == "d"; }).stock_reduces);
  EXPECT_TRUE(take_call(c, {"c", "d"}, "f", [](const std::string&) { return false; }).stock_reduces);
}

}  // namespace
}  // namespace assay
