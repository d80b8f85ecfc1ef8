// The descent with a fake candidate and a fake clock: what is run, how often, where, and what is said about the result.
#include "harness/shrink/driver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/case/generate.hpp"

namespace assay {
namespace {

using Worker = ShrinkDriver::Worker;

const SlotSpec& slot() {
  static const SlotSpec spec = [] {
    SlotSpec s;
    s.id = "test.slot";
    s.dims = {{"rows", 0, 4096, {0, 1, 7, 8, 333}}, {"width", 1, 8192, {1, 2, 64, 129, 1024}}};
    s.knobs = {{"lead", {"2d", "3d"}}};
    s.recipes = {{"normal", Recipe::normal}, {"tag", Recipe::tag}, {"zeros", Recipe::zeros}};
    s.arguments = args(in("x", {"rows", "width"}).strided(16), out("out", {"rows", "width"}).strided(16),
                       f64("eps", {1e-6, 0.25}))
                      .specs;
    return s;
  }();
  return spec;
}

Case with(std::int64_t rows, std::int64_t width) {
  Case c;
  c.dims = {{"rows", rows}, {"width", width}};
  c.recipe = "zeros";
  c.knobs["lead"] = "3d";
  c.scalars["eps"] = 0.25;
  c.layouts["x"].pad = 12;
  c.seed = 42;
  c.early = true;
  c.block_seed = 5;
  repair(slot(), c);
  return c;
}

Trial trial(const Case& c, Drive drive = Drive::eager) {
  Trial t;
  t.part = {drive, {c}};
  return t;
}

Judgement wrong(const std::string& text = "wrong") { return fail(Reason::mismatch, text); }

// A candidate by a predicate; remembers what was run where.
struct Bed {
  using Fails = std::function<Judgement(const Trial&, Worker)>;

  explicit Bed(Fails f, ShrinkBudget budget = {.runs = 100000, .seconds = 1e9}) : fails(std::move(f)), budget(budget) {}

  ShrinkOutcome shrink(const Trial& t, const std::vector<TrialPart>& history = {}, const std::vector<Trial>& known = {},
                       const Judgement& first = wrong("first")) {
    ShrinkDriver driver(
        *judged,
        [this](const Trial& x, Worker where) {
          ++evaluated[{to_json(x).dump(), where}];
          order.push_back(x);
          now += seconds_a_run;
          return fails(x, where);
        },
        [this] { return now; }, budget);
    return driver.shrink(t, first, history, known);
  }

  Fails fails;
  ShrinkBudget budget;
  const SlotSpec* judged = &slot();
  double now = 1000, seconds_a_run = 0;
  std::map<std::pair<std::string, Worker>, int> evaluated;
  std::vector<Trial> order;
};

Bed::Fails when(std::function<bool(const Case&)> holds) {
  return [holds = std::move(holds)](const Trial& t, Worker) { return holds(t.part.cases[0]) ? wrong() : pass(); };
}

TEST(Shrink, TheFaultOfRowsModSevenAndWidthOver64ShrinksToOneAnd65) {
  for (const auto& [rows, width] : {std::pair{8, 129}, {330, 1024}, {4089, 8192}, {1, 66}}) {
    Bed bed(when([](const Case& c) { return c["rows"] % 7 == 1 && c["width"] > 64; }));
    const ShrinkOutcome outcome = bed.shrink(trial(with(rows, width)));
    const Case& c = outcome.trial.part.cases[0];
    EXPECT_EQ(c["rows"], 1);
    EXPECT_EQ(c["width"], 65);
    EXPECT_EQ(c.recipe, "normal");
    EXPECT_EQ(c.knobs.at("lead"), "2d");
    EXPECT_EQ(c.scalars.at("eps"), 1e-6);
    EXPECT_TRUE(c.layouts.empty());
    EXPECT_FALSE(c.early || c.block_seed);
    EXPECT_TRUE(outcome.minimal);
    EXPECT_EQ(outcome.confirmed, "fresh worker");
    EXPECT_LT(outcome.runs, 100) << "a default budget is 200";
  }
}

TEST(Shrink, NoTrialIsEvaluatedTwiceInOnePlace) {
  Bed bed(when([](const Case& c) { return c["rows"] > 37 && c["width"] > 100 && c.recipe == "zeros"; }));
  const ShrinkOutcome outcome = bed.shrink(trial(with(3000, 4000)));
  EXPECT_EQ(outcome.trial.part.cases[0]["rows"], 38);
  EXPECT_EQ(outcome.trial.part.cases[0]["width"], 101);
  int runs = 0;
  for (const auto& [key, times] : bed.evaluated) {
    EXPECT_EQ(times, 1) << key.first;
    runs += times;
  }
  EXPECT_EQ(outcome.runs, runs) << "the budget counts what was run";
}

TEST(Shrink, OnlyTheFirstFailuresReasonCounts) {
  // Below 100 columns another fault hides the one that is looked for.
  Bed bed([](const Trial& t, Worker) {
    const Case& c = t.part.cases[0];
    if (c["width"] < 100) return fail(Reason::crash, "another fault");
    return c["rows"] > 2 ? wrong("this one") : pass();
  });
  const ShrinkOutcome outcome = bed.shrink(trial(with(50, 500)));
  EXPECT_EQ(outcome.trial.part.cases[0]["width"], 100);
  EXPECT_EQ(outcome.trial.part.cases[0]["rows"], 3);
  EXPECT_EQ(outcome.judgement.reason, Reason::mismatch);
  EXPECT_EQ(outcome.judgement.text, "this one");
}

TEST(Shrink, NoDecisionAndNotApplicableAreNoFailures) {
  Bed bed([](const Trial& t, Worker) {
    const Case& c = t.part.cases[0];
    Judgement j = wrong();
    if (c["rows"] < 10) j.verdict = Verdict::no_decision;  // of the same reason
    if (c["width"] < 10) return not_applicable();
    return j;
  });
  const ShrinkOutcome outcome = bed.shrink(trial(with(50, 500)));
  EXPECT_EQ(outcome.trial.part.cases[0]["rows"], 10);
  EXPECT_EQ(outcome.trial.part.cases[0]["width"], 10);
}

TEST(Shrink, ABudgetOfRunsEndsItAndSaysNotMinimal) {
  Bed bed(when([](const Case& c) { return c["rows"] > 37 && c["width"] > 100; }), {.runs = 12, .seconds = 1e9});
  const ShrinkOutcome outcome = bed.shrink(trial(with(3000, 4000)));
  EXPECT_FALSE(outcome.minimal);
  EXPECT_LE(outcome.runs, 13) << "the budget and the confirmation";
  const Case& c = outcome.trial.part.cases[0];
  EXPECT_TRUE(c["rows"] > 37 && c["width"] > 100) << "what is handed back does fail";
}

TEST(Shrink, ABudgetOfSecondsEndsItAndSaysNotMinimal) {
  Bed bed(when([](const Case& c) { return c["rows"] > 37; }), {.runs = 100000, .seconds = 10});
  bed.seconds_a_run = 1;
  const ShrinkOutcome outcome = bed.shrink(trial(with(3000, 4000)));
  EXPECT_FALSE(outcome.minimal);
  EXPECT_LE(bed.now, 1000 + 10 + 2);
  EXPECT_GT(outcome.trial.part.cases[0]["rows"], 37);
}

TEST(Shrink, KnownTrialsAreTriedFirstAndSpareTheDescent) {
  const auto fault = when([](const Case& c) { return c["rows"] > 37 && c["width"] > 100; });
  Bed first(fault);
  const ShrinkOutcome found = first.shrink(trial(with(3000, 4000)));
  Bed second(fault);
  const ShrinkOutcome again = second.shrink(trial(with(2000, 3000)), {}, {found.trial});
  EXPECT_EQ(second.order[2], found.trial) << "right after the failure itself, in a fresh worker and in that same one";
  EXPECT_EQ(again.trial, found.trial);
  EXPECT_LT(again.runs, first.shrink(trial(with(2000, 3000))).runs);
}

TEST(Shrink, AKnownTrialThatPassesOrHasAnotherDriveIsNotTaken) {
  Bed bed(when([](const Case& c) { return c["rows"] > 37; }));
  const ShrinkOutcome outcome =
      bed.shrink(trial(with(3000, 4)), {}, {trial(with(5, 1)), trial(with(38, 1), Drive::two_poisons)});
  EXPECT_EQ(outcome.trial.part.drive, Drive::eager);
  EXPECT_EQ(outcome.trial.part.cases[0]["rows"], 38);
  for (const Trial& t : bed.order) EXPECT_EQ(t.part.drive, Drive::eager);
}

TEST(Shrink, AHistoryIsReducedToTheOnePartThatMatters) {
  std::vector<TrialPart> history;
  for (int i = 0; i < 37; ++i) history.push_back({i == 20 ? Drive::two_poisons : Drive::eager, {with(10 + i, 20)}});
  history[20].cases[0] = with(900, 20);
  Bed bed([](const Trial& t, Worker where) {
    EXPECT_TRUE(t.history.empty() || where == Worker::fresh) << "history means nothing in a worker with another past";
    for (const TrialPart& part : t.history)
      if (part.cases[0]["rows"] > 64 && t.part.cases[0]["rows"] < 8) return wrong("after a larger call");
    return pass();
  });
  const ShrinkOutcome outcome = bed.shrink(trial(with(5, 300)), history);
  ASSERT_EQ(outcome.trial.history.size(), 1u);
  EXPECT_EQ(outcome.trial.history[0].drive, Drive::eager) << "a plain call is the simplest history";
  EXPECT_EQ(outcome.trial.history[0].cases[0]["rows"], 65);
  EXPECT_EQ(outcome.trial.history[0].cases[0]["width"], 1);
  EXPECT_EQ(outcome.trial.part.cases[0]["rows"], 0);
  EXPECT_TRUE(outcome.minimal);
  EXPECT_EQ(outcome.judgement.text, "after a larger call");
  EXPECT_NE(outcome.confirmed.find("history of 1"), std::string::npos) << outcome.confirmed;
  for (const auto& [key, times] : bed.evaluated) EXPECT_EQ(times, 1) << key.first;
}

TEST(Shrink, AFailureThatNeedsTwoPartsKeepsBothInOrder) {
  std::vector<TrialPart> history;
  for (int i = 0; i < 9; ++i) history.push_back({Drive::eager, {with(100 + i, 1)}});
  Bed bed([](const Trial& t, Worker) {
    bool first = false;
    for (const TrialPart& part : t.history) {
      first = first || part.cases[0]["rows"] == 102;
      if (first && part.cases[0]["rows"] == 107) return wrong();
    }
    return pass();
  });
  const ShrinkOutcome outcome = bed.shrink(trial(with(5, 1)), history);
  ASSERT_EQ(outcome.trial.history.size(), 2u);
  EXPECT_EQ(outcome.trial.history[0].cases[0]["rows"], 102);
  EXPECT_EQ(outcome.trial.history[1].cases[0]["rows"], 107);
}

TEST(Shrink, AFailureThatComesAndGoesIsFlakyKOfN) {
  int run = 0;
  Bed bed([&](const Trial&, Worker where) {
    EXPECT_EQ(where, Worker::fresh);
    return ++run % 3 == 0 ? wrong() : pass();  // not the first, not with its history, then two of five
  });
  const Trial failing = trial(with(50, 50));
  const ShrinkOutcome outcome = bed.shrink(failing, {{Drive::eager, {with(3, 3)}}});
  EXPECT_EQ(outcome.confirmed, "flaky: 2 of 5");
  EXPECT_EQ(outcome.trial, failing) << "a flaky trial is handed back as it was";
  EXPECT_FALSE(outcome.minimal);
  Bed never([](const Trial&, Worker) { return pass(); });
  const ShrinkOutcome gone = never.shrink(failing);
  EXPECT_EQ(gone.confirmed, "flaky: 0 of 5");
  EXPECT_EQ(gone.judgement.text, "first") << "all that is known of it";
}

TEST(Shrink, ADescentLedAstrayByAReusedWorkerStartsAgainInFreshOnes) {
  // A worker that has seen one failure fails ever after.
  bool spoilt = false;
  Bed bed([&](const Trial& t, Worker where) {
    if (where == Worker::fresh) spoilt = false;
    const bool fails = t.part.cases[0]["rows"] > 37;
    spoilt = spoilt || fails;
    return fails ? wrong("rows") : spoilt ? wrong("memory") : pass();
  });
  const ShrinkOutcome outcome = bed.shrink(trial(with(3000, 40)));
  EXPECT_EQ(outcome.trial.part.cases[0]["rows"], 38);
  EXPECT_EQ(outcome.trial.part.cases[0]["width"], 1);
  EXPECT_EQ(outcome.judgement.text, "rows");
  EXPECT_EQ(outcome.confirmed, "fresh worker");
}

TEST(Shrink, AFailureThatComesOnceAProcessIsMadeSmallerInFreshWorkers) {
  // Only the first call of a process is wrong.
  Bed bed([&](const Trial& t, Worker where) {
    return where == Worker::fresh && t.part.cases[0]["rows"] > 37 ? wrong() : pass();
  });
  const ShrinkOutcome outcome = bed.shrink(trial(with(3000, 40)));
  EXPECT_EQ(outcome.trial.part.cases[0]["rows"], 38);
  EXPECT_EQ(outcome.trial.part.cases[0]["width"], 1);
  EXPECT_EQ(outcome.confirmed, "fresh worker");
}

TEST(Shrink, WhereNothingSmallerFailsAloneTheJudgementIsThatOfTheTrialHandedBack) {
  const Trial failing = trial(with(3000, 40));
  Bed bed([&](const Trial& t, Worker where) {
    if (t == failing) return wrong("this trial");
    return where == Worker::reused ? wrong("memory of a reused worker") : pass();
  });
  const ShrinkOutcome outcome = bed.shrink(failing);
  EXPECT_EQ(outcome.trial, failing);
  EXPECT_EQ(outcome.judgement.text, "this trial");
}

TEST(Shrink, ATrialsCasesAndItsHistoryKeepOneSetOfRanks) {
  for (const Drive drive : {Drive::interleaved_graphs, Drive::groups}) {
    Case four = with(7, 8), part = four;
    four.world = 4;
    part.world = drive == Drive::groups ? 2 : 4;
    Bed bed([](const Trial& t, Worker) {
      const auto same = [&](const Case& c) { return c.world == t.part.cases.front().world; };
      for (const TrialPart& before : t.history) EXPECT_TRUE(std::all_of(before.cases.begin(), before.cases.end(), same));
      EXPECT_NO_THROW((void)trial_from_json(to_json(t)));
      return t.part.cases.front().world >= 2 && !t.history.empty() ? wrong() : pass();
    });
    SlotSpec of_ranks = slot();
    of_ranks.kind = Kind::collective;
    bed.judged = &of_ranks;
    Trial t = trial(four, drive);
    t.part.cases.push_back(part);
    const ShrinkOutcome out = bed.shrink(t, {{Drive::eager, {four}}});
    EXPECT_EQ(out.trial.part.cases[0].world, 2) << name_of(drive);
    EXPECT_LE(out.trial.part.cases[1].world, 2) << name_of(drive);
  }
}

TEST(Shrink, BothCasesOfATrialGetSmaller) {
  Trial t;
  t.part = {Drive::relocated, {with(100, 30), with(200, 40)}};
  Bed bed([](const Trial& x, Worker) {
    return x.part.cases[1]["rows"] > x.part.cases[0]["rows"] && x.part.cases[0]["width"] > 3 ? wrong() : pass();
  });
  const ShrinkOutcome outcome = bed.shrink(t);
  EXPECT_EQ(outcome.trial.part.cases[0]["rows"], 0);
  EXPECT_EQ(outcome.trial.part.cases[1]["rows"], 1);
  EXPECT_EQ(outcome.trial.part.cases[0]["width"], 4);
  EXPECT_EQ(outcome.trial.part.cases[1]["width"], 1);
}

}  // namespace
}  // namespace assay
