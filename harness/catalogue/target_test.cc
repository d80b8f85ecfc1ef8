#include "harness/catalogue/target.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "harness/case/rapid_test.hpp"
#include "harness/catalogue/sample_test.hpp"

namespace assay {
namespace {

using sample::Parts;
using Break = std::function<void(Parts&)>;

std::string refused(const Parts& p) {
  try {
    (void)p.make();
  } catch (const CatalogueError& error) {
    EXPECT_EQ(std::string(error.what()).rfind(error.rule() + ": ", 0), 0u);
    return error.rule();
  }
  return "accepted";
}

TEST(Catalogue, EachInvariantIsKept) {
  EXPECT_EQ(refused({}), "accepted");
  const std::vector<std::pair<const char*, Break>> breaks = {
      {"CI-1", [](Parts& p) { p.targets.clear(); }},
      {"CI-1", [](Parts& p) { p.targets.push_back(p.at("a")); }},
      {"CI-1", [](Parts& p) { p.at("a").id = ""; }},
      {"CI-1", [](Parts& p) { p.rules.push_back(p.rules[0]); }},
      {"CI-2",
       [](Parts& p) {
         p.at("a").members = {"a", "b"};
       }},
      {"CI-2", [](Parts& p) { p.at("a").contract.reset(); }},
      {"CI-2", [](Parts& p) { p.at("a").contract = sample::contract("b"); }},
      {"CI-2", [](Parts& p) { p.at("a").atomic_semantics_id = "x"; }},
      {"CI-3", [](Parts& p) { p.at("ab").members = {"a"}; }},
      {"CI-3",
       [](Parts& p) {
         p.at("ab").members = {"a", "nobody"};
       }},
      {"CI-3", [](Parts& p) { p.at("ab").displaces = {"a"}; }},
      {"CI-3", [](Parts& p) { p.at("ab").displaces = {}; }},
      {"CI-3", [](Parts& p) { p.at("ab").atomic_semantics_id = ""; }},
      {"CI-3", [](Parts& p) { p.at("ab").contract = sample::contract("ab"); }},
      {"CI-4",
       [](Parts& p) {
         p.targets.push_back(sample::atomic("ba", {"b", "a"}));
       }},
      {"CI-5",
       [](Parts& p) {
         p.targets.push_back(sample::atomic("bc", {"b", "c"}));
       }},
      {"CI-6", [](Parts& p) { p.at("a").displaces = {"a"}; }},
      {"CI-6", [](Parts& p) { p.at("a").needs = {"nobody"}; }},
      {"CI-6", [](Parts& p) { p.at("a").compatible_with = {"nobody"}; }},
      {"CI-7", [](Parts& p) { p.at("d").compatible_with = {}; }},
      {"CI-7", [](Parts& p) { p.at("c").displaces = {"d"}, p.at("d").needs = {}; }},
      {"CI-8", [](Parts& p) { p.at("a").displaces = {"ab"}; }},
      {"CI-8", [](Parts& p) { p.at("c").needs = {"d"}; }},
      {"CI-9", [](Parts& p) { p.at("ab").needs = {"a"}; }},
      {"CI-9", [](Parts& p) { p.at("a").needs = {"ab"}; }},
      {"CI-9",
       [](Parts& p) { p.at("ab").needs = {"d"}, p.at("a").displaces = {"c"}; }},  // ab displaces a, a c, d needs c
      {"CI-10", [](Parts& p) { p.rules.clear(); }},
      {"CI-10", [](Parts& p) { p.rules.push_back(sample::rule("a", "c")); }},
      {"CI-10", [](Parts& p) { p.rules.push_back(sample::rule("d", "c")); }},
      {"CI-11", [](Parts& p) { p.rules[0].mode = "fastest"; }},
      {"CI-11",
       [](Parts& p) {
         p.rules[0].precedence = {"c", "d", "a"};
       }},
      {"CI-11",
       [](Parts& p) {
         p.rules[0].precedence = {"c", "c"};
       }},
      {"CI-11", [](Parts& p) { p.rules[0].binding_family = "g"; }},
      {"CI-11", [](Parts& p) { p.at("d").contract = sample::contract("d", "g"); }},
      {"CI-12",
       [](Parts& p) {
         p.at("b").compatible_with = {"c", "d"}, p.at("c").compatible_with = {"b", "d"};
         p.at("d").compatible_with = {"b", "c"};
         p.rules = {sample::rule("b", "c"), sample::rule("c", "d"), sample::rule("d", "b")};
       }},
      {"CI-13",
       [](Parts& p) {
         p.at("a").allowed_features = {"entry", "telepathy"};
       }},
      {"CI-13", [](Parts& p) { p.at("a").allowed_features = {"variants"}; }},
      {"CI-13",
       [](Parts& p) {
         p.at("ab").allowed_features = {"entry", "setup"};
       }},
      {"CI-14", [](Parts& p) { p.slots.insert("e"); }},
      {"CI-14", [](Parts& p) { p.slots.erase("c"); }}};
  std::set<std::string> shown;
  for (std::size_t i = 0; i < breaks.size(); ++i) {
    Parts p;
    breaks[i].second(p);
    EXPECT_EQ(refused(p), breaks[i].first) << i;
    shown.insert(breaks[i].first);
  }
  EXPECT_EQ(shown.size(), 14u);
}

TEST(Catalogue, TheOrderOfItsPartsSaysNothing) {
  const std::string digest = Parts().make().digest();
  holds("order of registration", 200, [&] {
    Parts p;
    for (std::size_t i = p.targets.size(); i > 1; --i)
      std::swap(p.targets[i - 1], p.targets[*rc::gen::inRange<std::size_t>(0, i)]);
    const Catalogue c = p.make();
    RC_ASSERT(c.digest() == digest);
    RC_ASSERT(std::is_sorted(c.targets().begin(), c.targets().end(),
                             [](const Target& a, const Target& b) { return a.spec().id < b.spec().id; }));
  });
}

TEST(Catalogue, EveryEditChangesItsDigestAndTheTargetsItIsAbout) {
  const Catalogue base = Parts().make();
  struct Change {
    Break edit;
    std::set<std::string> targets;    // whose spec digests change
    std::set<std::string> contracts;  // whose contract digests do
  };
  const std::vector<Change> changes = {
      {[](Parts& p) { p.at("a").allowed_features.insert("prepare"); }, {"a"}, {}},
      {[](Parts& p) { p.at("a").contract->tolerances[0].atol = "0.03"; }, {"a", "ab"}, {"a", "ab"}},
      {[](Parts& p) { p.at("a").contract->reference_id = "a.reference.v2"; }, {"a", "ab"}, {"a", "ab"}},
      {[](Parts& p) { p.at("a").contract->graph_dynamic_inputs = {"x"}; }, {"a", "ab"}, {"a", "ab"}},
      {[](Parts& p) { p.at("c").contract->kl_threshold = "0.03"; }, {"c"}, {"c"}},
      {[](Parts& p) { p.at("ab").atomic_semantics_id = "ab.semantics.v2"; }, {"ab"}, {"ab"}},
      {[](Parts& p) { p.at("ab").displaces.insert("c"); }, {"ab"}, {}},
      {[](Parts& p) { p.at("d").needs = {}; }, {"d"}, {}},
      {[](Parts& p) {
         p.rules[0].precedence = {"d", "c"};
       },
       {},
       {}},
      {[](Parts& p) { p.rules[0].id = "another"; }, {}, {}},
      {[](Parts& p) { p.policy.version = 2; }, {}, {}},
      {[](Parts& p) { p.policy.toolchain["abi"] = "2"; }, {}, {}}};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Parts p;
    changes[i].edit(p);
    const Catalogue edited = p.make();
    EXPECT_NE(edited.digest(), base.digest()) << i;
    for (const Target& t : base.targets()) {
      const std::string& id = t.spec().id;
      EXPECT_EQ(edited.find(id)->digest() != t.digest(), changes[i].targets.count(id) != 0) << i << " " << id;
      EXPECT_EQ(edited.find(id)->contract_digest() != t.contract_digest(), changes[i].contracts.count(id) != 0)
          << i << id;
    }
  }
}

TEST(Catalogue, WhatCallersHoldChangesNothing) {
  Parts p;
  const Catalogue c = p.make();
  const std::string digest = c.digest();
  p.at("a").contract->entry = "other";
  nlohmann::json snapshot = c.snapshot();
  snapshot["targets"].clear();
  EXPECT_EQ(c.find("a")->spec().contract->entry, "run");
  EXPECT_EQ(c.snapshot()["targets"].size(), 5u);
  EXPECT_EQ(c.digest(), digest);
  EXPECT_EQ(c.find("nobody"), nullptr);
  EXPECT_EQ(c.displaced_by("ab"), (std::set<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace assay
