// The router's own mistakes are no candidate's: whatever it decides wrongly is NO_DECISION, and is seen.
#include <gtest/gtest.h>

#include "conformance/rules/forged_test.hpp"

namespace assay {
namespace {

using forged::right;

struct Mutant {
  const char* name;
  const char* rule;
  void (*change)(Observation&);
};

TEST(RouteRules, ARouterThatDecidesWronglyIsCaughtAndNotBlamedOnTheCandidate) {
  const Mutant mutants[] = {
      {"selects outside the domain", "route.domain",
       [](Observation& seen) {
         seen.routed[3].decision.outcome = RouteOutcome::selected;
         seen.routed[3].decision.variant = "forged";
       }},
      {"serves stock inside the domain", "route.domain",
       [](Observation& seen) { seen.routed[1].decision.outcome = RouteOutcome::out_of_domain; }},
      {"selects another variant", "route.domain",
       [](Observation& seen) { seen.routed[1].decision.variant = "another"; }},
      {"observes other facts than offline", "route.domain",
       [](Observation& seen) { seen.routed[1].live = {seen.routed[3].offline}; }},
      {"one rank observes other facts", "route.domain",
       [](Observation& seen) { seen.routed[1].live.push_back(seen.routed[3].offline); }},
      {"selects with a fact unknown", "route.closed",
       [](Observation& seen) {
         seen.routed[2].decision.outcome = RouteOutcome::selected;
         seen.routed[2].decision.variant = "forged";
       }},
      {"looks at a call while the runtime tunes itself", "route.tuning_excluded",
       [](Observation& seen) { seen.routed[0].live = {seen.routed[0].offline}; }},
      {"decides a call while the runtime tunes itself", "route.tuning_excluded",
       [](Observation& seen) { seen.routed[0].decision.outcome = RouteOutcome::out_of_domain; }},
      {"selects although a rank is not eligible", "collective.all_rank_selection",
       [](Observation& seen) { seen.routed[4].agreement.by = Served::candidate; }},
      {"calls a selected candidate twice", "route.no_silent_retry",
       [](Observation& seen) { seen.routed[1].entries = {2}; }},
      {"calls stock for a selected candidate", "route.no_silent_retry",
       [](Observation& seen) { seen.routed[5].entries = {0}; }},
  };
  for (const Mutant& m : mutants) {
    Observation seen = right(Drive::routed);
    m.change(seen);
    const Judgement j = judge(*find_rule(m.rule), seen);
    EXPECT_EQ(name_of(j.verdict), "NO_DECISION") << m.name << ": " << j.text;
    EXPECT_EQ(name_of(j.reason), "harness") << m.name;
  }
}

}  // namespace
}  // namespace assay
