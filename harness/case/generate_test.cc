// Generation and moves on a slot that is awkward on purpose: multiples of 8, one dim bounded by another, a costly work.
// The same laws over the registered slots: conformance/slots/laws_test.cc.
#include "harness/case/generate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "assay/property.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

SlotSpec awkward() {
  SlotSpec s;
  s.id = "test.awkward";
  s.dims = {{"rows", 0, 5000, {0, 1, 7, 333}}, {"d", 8, 512, {8, 64, 65, 128}}, {"k", 1, 64, {1, 2, 16}}};
  s.knobs = {{"lead", {"2d", "1d", "3d"}}, {"causal", {"no", "yes"}}};
  s.recipes = {{"normal", Recipe::normal}, {"tag", Recipe::tag}, {"zeros", Recipe::zeros}};
  s.arguments = args(in("x", {"rows", "d"}).strided(16), in("w", {"d"}).aligned(64),
                     out("out", {"rows", "d"}).strided(16).aligned(16), f64("eps", {1e-6, 0.25}))
                    .specs;
  s.legal = [](Case& c) {
    c.dims["d"] = std::max<std::int64_t>(8, c.dims["d"] / 8 * 8);
    c.dims["k"] = std::min(c.dims["k"], std::max<std::int64_t>(1, c.dims["d"] / 8));
  };
  s.work = [](const Case& c) { return 4096.0 * static_cast<double>(c["rows"] * c["k"]); };
  s.pins = {{{{"rows", 3}, {"d", 64}}, Tier::quick},
            {{{"rows", 1}, {"d", 65}, {"k", 60}}, Tier::quick, {{"lead", "1d"}}, "tag", {{"eps", 0.25}}},
            {{{"rows", 4000}, {"d", 512}}, Tier::full},
            {{{"rows", 5000}, {"d", 512}}, Tier::gate}};
  return s;
}

// Its output is contiguous by contract, and a pool of rows is far larger than what is computed of it.
SlotSpec pooled() {
  SlotSpec s;
  s.id = "test.pooled";
  s.dims = {{"rows", 1, 64, {1, 7}}, {"pool", 1, 1 << 20, {1, 4096}}, {"d", 1, 64, {8}}};
  s.recipes = {{"normal", Recipe::normal}, {"tag", Recipe::tag}};
  s.arguments = args(in("pool", {"pool", "d"}), out("out", {"rows", "d"}), f64("scale", {1.0})).specs;
  s.legal = [](Case& c) { c.dims["pool"] = std::max(c.dims["pool"], c.dims["rows"]); };
  s.pins = {{{{"rows", 3}, {"d", 8}}, Tier::quick}, {{{"rows", 4}, {"d", 8}}, Tier::full}};
  return s;
}

template <class Check>
void for_draws(const SlotSpec& s, int count, Check&& check) {
  for (int i = 0; i < count; ++i)
    check(drawn_case(s, static_cast<DType>(i % 3), i % 4 ? Tier::quick : Tier::full, i * 100 / count, mix64(i)));
}

TEST(Draw, TheSameKeyDrawsTheSameCaseAndOthersDiffer) {
  const SlotSpec s = awkward();
  std::set<std::string> distinct;
  for (std::uint64_t key = 0; key < 200; ++key) {
    const Case c = drawn_case(s, DType::f16, Tier::quick, 50, mix64(key));
    EXPECT_EQ(c, drawn_case(s, DType::f16, Tier::quick, 50, mix64(key)));
    distinct.insert(digest(c));
  }
  EXPECT_EQ(distinct.size(), 200u);
}

TEST(Draw, EveryCaseIsLegalAndWithinTheTiersLimits) {
  const SlotSpec s = awkward();
  for (const Tier tier : {Tier::quick, Tier::full})
    for (std::uint64_t key = 0; key < 1000; ++key) {
      const Case c = drawn_case(s, DType::bf16, tier, static_cast<int>(key % 101), mix64(key));
      EXPECT_EQ(c["d"] % 8, 0);
      EXPECT_LE(c["k"], c["d"] / 8);
      EXPECT_LE(s.output_cells(c), limits_of(tier).output_cells);
      EXPECT_LE(s.work(c), limits_of(tier).reference_work);
      Case again = c;
      repair(s, again);
      EXPECT_EQ(again, c) << "repair is idempotent: " << describe(c);
    }
}

TEST(Draw, AThirdOfTheDimsLieAtTheirEdgesAndTheRestBetween) {
  const SlotSpec s = awkward();
  const DimSpec& rows = s.dims[0];
  int at_edge = 0, total = 0;
  std::set<std::int64_t> seen;
  for (std::uint64_t key = 0; key < 3000; ++key) {
    const Case c = drawn_case(s, DType::f32, Tier::full, 100, mix64(key));
    ++total;
    at_edge += std::count(rows.edges.begin(), rows.edges.end(), c["rows"]) > 0;
    seen.insert(c["rows"]);
  }
  // One in three drawn from the edges, and small values that are edges by chance.
  EXPECT_GT(at_edge, total * 30 / 100);
  EXPECT_LT(at_edge, total * 60 / 100);
  for (const std::int64_t edge : rows.edges) EXPECT_TRUE(seen.count(edge)) << edge;
  EXPECT_GT(seen.size(), 200u);
}

TEST(Draw, InputsStayWithinTheTiersBytesWhereOutputsAreSmall) {
  const SlotSpec s = pooled();
  std::uint64_t most = 0;
  for (const Tier tier : {Tier::quick, Tier::full})
    for (std::uint64_t key = 0; key < 1000; ++key) {
      const Case c = drawn_case(s, DType::f32, tier, static_cast<int>(key % 101), mix64(key));
      EXPECT_LE(s.input_bytes(c), limits_of(tier).input_bytes) << describe(c);
      EXPECT_FALSE(c.padded) << "one case of the full tier is, no drawn one";
      most = std::max(most, s.input_bytes(c));
    }
  EXPECT_GT(most, limits_of(Tier::full).input_bytes / 8) << "nothing came near the limit";
}

TEST(Fit, HalvesTheWidestDimUntilTheInputsFit) {
  const SlotSpec s = pooled();
  Case c;
  c.dims = {{"rows", 5}, {"pool", 1 << 20}, {"d", 64}};
  repair(s, c);
  Case least = c;
  least.dims["pool"] = 1 << 18;
  fit(s, c, {1 << 16, 1e9, 1 << 20, 0});
  EXPECT_EQ(c.dims, (std::map<std::string, std::int64_t>{{"rows", 5}, {"pool", 1 << 12}, {"d", 64}}));
  c.dims["pool"] = 1 << 20;
  fit(s, c, {1 << 16, 1e9, 1 << 20, 0}, &least);
  EXPECT_EQ(c["pool"], 1 << 18) << "never under the least, whatever the bytes";
}

TEST(Fit, PassesOverDimsThatTheSlotsRepairPutsBack) {
  SlotSpec s = pooled();
  s.legal = [](Case& c) { c.dims["pool"] = std::max<std::int64_t>(c.dims["pool"], 4096); };
  Case c;
  c.dims = {{"rows", 5}, {"pool", 4096}, {"d", 64}};
  repair(s, c);
  fit(s, c, {1 << 16, 1e9, 1 << 19, 0});
  EXPECT_EQ(c.dims, (std::map<std::string, std::int64_t>{{"rows", 5}, {"pool", 4096}, {"d", 32}}));
}

TEST(Draw, SmallSizesDrawSmallCases) {
  const SlotSpec s = awkward();
  for (std::uint64_t key = 0; key < 300; ++key) {
    const Case c = drawn_case(s, DType::f32, Tier::quick, 0, mix64(key));
    EXPECT_LE(c["rows"], 8) << "early cases are quick to run and to read";
    EXPECT_LE(c["d"], 64);
  }
}

TEST(Draw, EveryFeatureIsTriedAndNoneAlways) {
  const SlotSpec s = awkward();
  std::map<std::string, int> tried;
  constexpr int draws = 2000;
  for_draws(s, draws, [&](const Case& c) {
    ++tried["lead=" + c.knobs.at("lead")];
    ++tried["causal=" + c.knobs.at("causal")];
    ++tried["recipe=" + c.recipe];
    ++tried[c.scalars.at("eps") == 1e-6 ? "eps" : "other eps"];
    ++tried[c.early ? "early" : "late"];
    ++tried[c.block_seed ? "shuffled" : "in order"];
    ++tried[c.far ? "far" : "near"];
    for (const char* name : {"x", "out"}) {
      const auto l = c.layouts.find(name);
      ++tried[std::string(name) + (l != c.layouts.end() && l->second.pad ? " padded" : " dense")];
      ++tried[std::string(name) + (l != c.layouts.end() && l->second.offset ? " moved" : " at once")];
    }
  });
  for (const char* feature :
       {"lead=1d",  "lead=2d",   "lead=3d", "causal=yes", "causal=no",  "recipe=normal", "recipe=tag", "recipe=zeros",
        "eps",      "other eps", "early",   "late",       "shuffled",   "in order",      "far",        "near",
        "x padded", "x dense",   "x moved", "x at once",  "out padded", "out dense",     "out moved",  "out at once"}) {
    EXPECT_GT(tried[feature], 5) << feature;
    EXPECT_LT(tried[feature], draws - 5) << feature;
  }
}

TEST(Repair, WhatTheSlotDoesNotKnowIsDroppedAndWhatIsMissingIsGiven) {
  const SlotSpec s = awkward();
  Case c;
  c.slot = "another";
  c.dtype = DType::f16;
  c.dims = {{"rows", 9}, {"d", 100000}, {"heads", 3}};
  c.knobs = {{"lead", "9d"}, {"colour", "red"}};
  c.recipe = "unheard of";
  c.scalars = {{"gamma", 2.0}};
  c.layouts = {{"x", {13, 700}}, {"w", {8, 200}}, {"out", {5, 40}}, {"y", {8, 8}}, {"eps", {1, 1}}};
  repair(s, c);
  EXPECT_EQ(c.slot, "test.awkward");
  EXPECT_EQ(c.dims, (std::map<std::string, std::int64_t>{{"rows", 9}, {"d", 512}, {"k", 1}}));
  EXPECT_EQ(c.knobs, (std::map<std::string, std::string>{{"lead", "2d"}, {"causal", "no"}}));
  EXPECT_EQ(c.recipe, "normal");
  EXPECT_EQ(c.scalars, (std::map<std::string, double>{{"eps", 1e-6}}));
  // x: 16-byte steps are 8 halves, 256-byte alignment; w is not strided; out keeps odd multiples of its 16 bytes.
  EXPECT_EQ(c.layouts, (std::map<std::string, ArgumentLayout>{{"x", {8, 512}}, {"w", {0, 128}}, {"out", {0, 32}}}));
}

TEST(Repair, ARankOneTensorIsOneRowAndFarRowsAreFewAndDense) {
  const SlotSpec s = awkward();
  Case c;
  c.dims = {{"rows", 2}, {"d", 64}};
  c.knobs = {{"lead", "1d"}};
  repair(s, c);
  EXPECT_EQ(c.knobs.at("lead"), "2d");
  c.dims["rows"] = 6;
  c.knobs["lead"] = "3d";
  c.far = true;
  c.layouts["x"].pad = 8;
  repair(s, c);
  EXPECT_TRUE(c.far);
  EXPECT_EQ(c.knobs.at("lead"), "2d");
  EXPECT_FALSE(c.layouts.count("x"));
  c.dims["rows"] = 9;
  repair(s, c);
  EXPECT_FALSE(c.far);
}

TEST(Repair, OnlyOutputsThatAreContiguousByContractArePaddedAndByOneStep) {
  const SlotSpec s = pooled();
  Case c;
  c.dims = {{"rows", 3}, {"d", 8}};
  c.padded = true;
  for (const auto& [dtype, pad] : {std::pair(DType::f32, 4), std::pair(DType::f16, 8)}) {
    c.dtype = dtype;
    c.layouts = {{"out", {24, 512}}, {"pool", {8, 0}}};
    repair(s, c);
    EXPECT_EQ(c.layouts, (std::map<std::string, ArgumentLayout>{{"out", {pad, 512}}})) << name_of(dtype);
    EXPECT_TRUE(c.padded);
  }
  c.padded = false;
  repair(s, c);
  EXPECT_EQ(c.layouts, (std::map<std::string, ArgumentLayout>{{"out", {0, 512}}}));
  Case strided;
  strided.padded = true;
  repair(awkward(), strided);
  EXPECT_FALSE(strided.padded) << "all outputs may be strided anyway";
}

TEST(Repair, ScalarsWithOneChoiceAreNotStored) {
  Case c;
  c.scalars = {{"scale", 7.0}};
  repair(pooled(), c);
  EXPECT_TRUE(c.scalars.empty());
}

TEST(Pins, TheFullTierAddsOnePaddedCaseWhereAnOutputIsContiguous) {
  const auto padded = [](const SlotSpec& s, Tier tier) {
    const std::vector<Case> pins = pins_of(s, DType::f16, tier, 0);
    return std::count_if(pins.begin(), pins.end(), [](const Case& c) { return c.padded; });
  };
  EXPECT_EQ(padded(pooled(), Tier::quick), 0);
  EXPECT_EQ(padded(pooled(), Tier::full), 1);
  EXPECT_EQ(padded(pooled(), Tier::gate), 1);
  EXPECT_EQ(padded(awkward(), Tier::full), 0);
}

TEST(Pins, AreThoseOfTheTierAndAreKeptAsTheyStandButForRepair) {
  const SlotSpec s = awkward();
  EXPECT_EQ(pins_of(s, DType::f16, Tier::quick, 0).size(), 2u);
  EXPECT_EQ(pins_of(s, DType::f16, Tier::full, 0).size(), 3u);
  EXPECT_EQ(pins_of(s, DType::f16, Tier::gate, 0).size(), 4u);
  const std::vector<Case> pins = pins_of(s, DType::f16, Tier::quick, 0);
  EXPECT_EQ(pins, pins_of(s, DType::f16, Tier::quick, 0));
  EXPECT_NE(pins, pins_of(s, DType::f16, Tier::quick, 1)) << "values follow the run's seed";
  EXPECT_EQ(pins[1].dims, (std::map<std::string, std::int64_t>{{"rows", 1}, {"d", 64}, {"k", 8}}));
  EXPECT_EQ(pins[1].knobs.at("lead"), "1d");
  EXPECT_EQ(pins[1].recipe, "tag");
  EXPECT_EQ(pins[1].scalars.at("eps"), 0.25);
  EXPECT_EQ(pins[0].layouts.at("x").pad, 8) << "pins are row-padded";
}

TEST(Companion, IsLegalDeterministicAndLargerForRegrow) {
  const SlotSpec s = awkward();
  for_draws(s, 400, [&](const Case& c) {
    for (const Drive drive : {Drive::relocated, Drive::interleaved_graphs, Drive::regrow}) {
      const Case other = companion(s, c, drive, Tier::quick);
      EXPECT_EQ(other, companion(s, c, drive, Tier::quick));
      EXPECT_EQ(other.dtype, c.dtype);
      EXPECT_NE(other.seed, c.seed);
      Case again = other;
      repair(s, again);
      EXPECT_EQ(again, other);
      if (drive == Drive::regrow) {
        EXPECT_GE(s.output_cells(other), s.output_cells(c)) << describe(c) << " then " << describe(other);
      }
    }
  });
}

TEST(Moves, AreLegalSmallerDistinctAndEnd) {
  const SlotSpec s = awkward();
  for_draws(s, 24, [&](Case c) {
    int depth = 0;
    while (true) {
      const std::vector<Case> next = moves(s, c);
      for (std::size_t i = 0; i < next.size(); ++i) {
        EXPECT_LT(measure(s, next[i]), measure(s, c));
        Case again = next[i];
        repair(s, again);
        EXPECT_EQ(again, next[i]);
        EXPECT_EQ(std::count(next.begin(), next.end(), next[i]), 1);
      }
      if (next.empty()) break;
      // The least move of all makes the longest descent.
      c = *std::max_element(next.begin(), next.end(),
                            [&](const Case& a, const Case& b) { return measure(s, a) < measure(s, b); });
      ASSERT_LT(++depth, 20000);
    }
    EXPECT_EQ(c["rows"], 0);
    EXPECT_EQ(c["d"], 8);
    EXPECT_EQ(c.recipe, "normal");
    EXPECT_TRUE(c.layouts.empty());
    EXPECT_FALSE(c.early || c.far || c.block_seed);
  });
}

TEST(Moves, LeavePaddingBehind) {
  const SlotSpec s = pooled();
  Case c;
  c.dims = {{"rows", 1}, {"d", 1}};
  c.padded = true;
  repair(s, c);
  ASSERT_EQ(c.layouts.at("out").pad, 4);
  const std::vector<Case> next = moves(s, c);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_FALSE(next[0].padded);
  EXPECT_TRUE(next[0].layouts.empty());
  EXPECT_LT(measure(s, next[0]), measure(s, c));
}

TEST(Property, SettlesDrawnCasesBeforeTheyAreTriedAndLeavesPins) {
  const SlotSpec s = awkward();
  int pins = 0, drawn = 0;
  const auto settle = [&](Case& c) {
    c.knobs["causal"] = "yes";
    repair(s, c);
  };
  const PropertyResult all = for_all_cases(
      s, DType::f32, Tier::quick, 5,
      [&](const Case& c) { return (c.knobs.at("causal") == "yes" ? ++drawn : ++pins) > 0; }, settle);
  EXPECT_EQ(all.error, "");
  EXPECT_EQ(all.held, limits_of(Tier::quick).cases);
  EXPECT_EQ(pins, 2);
  EXPECT_EQ(drawn, limits_of(Tier::quick).cases - 2);
  const PropertyResult none = for_all_cases(
      s, DType::f32, Tier::quick, 5, [](const Case& c) { return c.knobs.at("causal") == "no"; }, settle);
  ASSERT_TRUE(none.falsified);
  EXPECT_EQ(none.falsified->knobs.at("causal"), "yes") << "what is reported is what was tried";
  EXPECT_EQ(none.held, 2);
}

TEST(Moves, OnADimGoFromTheMinimumOverEdgesDownToOneLess) {
  SlotSpec s = awkward();
  s.legal = [](Case&) {};
  Case c;
  c.dims = {{"rows", 129}, {"d", 8}, {"k", 1}};
  repair(s, c);
  std::vector<std::int64_t> rows;
  for (const Case& m : moves(s, c)) rows.push_back(m["rows"]);
  EXPECT_EQ(rows, (std::vector<std::int64_t>{0, 1, 7, 65, 97, 113, 121, 125, 127, 128}));
}

}  // namespace
}  // namespace assay
