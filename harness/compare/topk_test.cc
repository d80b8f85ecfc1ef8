#include "harness/compare/topk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
using Sheet = std::vector<std::vector<double>>;

Tensor sheet(const Sheet& rows) {
  Tensor t({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())}, DType::f64);
  auto to = t.values<double>().begin();
  for (const auto& row : rows) to = std::copy(row.begin(), row.end(), to);
  return t;
}

Comparison grade(const Sheet& a, const Sheet& e, std::int64_t k = 2, double floor = 0.875) {
  return compare({.mode = Mode::topk_scores, .floor = floor, .k = k}, {}, sheet(a).view(), sheet(e).view());
}

TEST(ScoreSheet, AMonotoneDistortionPasses) {
  const Sheet e = {{5, 1, 4, 3}, {-9, -2, -7, -1}};
  Sheet a = e;
  for (auto& row : a)
    for (double& v : row) v = std::exp(v / 3) - 4;
  const Comparison c = grade(a, e);
  EXPECT_TRUE(c.passed);
  EXPECT_EQ(c.score, 1.0);
  EXPECT_EQ(c.max_abs, 0.0);
}

TEST(ScoreSheet, NegatedScoresFail) {
  const Comparison c = grade({{-5, -1, -4, -3}}, {{5, 1, 4, 3}});
  EXPECT_FALSE(c.passed);
  EXPECT_EQ(c.score, 0.0);
  EXPECT_EQ(c.wrong, 1);
}

TEST(ScoreSheet, NanAndPlusInfinityFailEvenInInvisibleCells) {
  for (const double bad : {inf, std::nan("")}) {
    const Comparison c = grade({{5, 1, 4, bad}}, {{5, 1, 4, -inf}});
    EXPECT_FALSE(c.passed);
    EXPECT_EQ(c.score, 0.0);
    EXPECT_EQ(c.wrong, 1);
    EXPECT_EQ(c.fault, CaseFault::none);
  }
  EXPECT_TRUE(grade({{5, -inf, 4, -inf}}, {{5, 1, 4, -inf}}).passed);  // -inf is legal anywhere, if it costs nothing
}

TEST(ScoreSheet, FiniteValuesInInvisibleCellsCostOnlyWhenTheyRankIn) {
  EXPECT_TRUE(grade({{5, 1, 4, -99}}, {{5, 1, 4, -inf}}).passed);
  EXPECT_EQ(grade({{5, 1, 4, 6}}, {{5, 1, 4, -inf}}).score, 0.5);
}

TEST(ScoreSheet, EqualScoresGoToTheLowerBlock) {
  EXPECT_EQ(grade({{1, 1, 1, 0}}, {{3, 2, 1, 0}}).score, 1.0);
  EXPECT_EQ(grade({{0, 1, 1, 1}}, {{0, 1, 2, 3}}).score, 0.5);
}

TEST(ScoreSheet, TiesOfTheExpectationAreInterchangeableAndMandatoryOnesAreNot) {
  const Sheet tie = {{9, 4, 4.00001, 4, 1}};  // one mandatory, three that tie for the second place
  EXPECT_EQ(grade({{9, 0, 0, 5, 0}}, tie).score, 1.0);
  EXPECT_EQ(grade({{0, 0, 5, 5, 0}}, tie).score, 0.5);  // two of the tie do not make up for the mandatory one
  EXPECT_EQ(grade({{0, 0, 0, 8, 9}}, {{7, 7, 7, 7, 7}}).score, 1.0);
}

TEST(ScoreSheet, RowsWithoutVisibleBlocksAreNotGraded) {
  EXPECT_EQ(grade({{0, 9, 9, 9}, {5, 1, 4, 3}}, {{-inf, -inf, -inf, -inf}, {5, 1, 4, 3}}).score, 1.0);
  EXPECT_EQ(grade({{1, 2}}, {{-inf, -inf}}).fault, CaseFault::vacuous);
}

TEST(ScoreSheet, FewerVisibleBlocksThanPlacesAreAllDue) {
  EXPECT_EQ(grade({{5, -inf, -inf, -inf}}, {{5, -inf, -inf, -inf}}, 3).score, 1.0);
  EXPECT_EQ(grade({{-inf, 5, -inf, 4}}, {{5, -inf, -inf, 4}}, 3).score, 0.5);
}

TEST(ScoreSheet, OneLostRowFailsUnderAGoodMean) {
  Sheet e(20, {9, 8, 1, 0}), a = e;
  a[13] = {0, 1, 8, 9};
  const Comparison c = grade(a, e);
  EXPECT_GT(c.score, 0.875);
  EXPECT_FALSE(c.passed);
  EXPECT_EQ(c.reason, "row (13) has an overlap of 0, under 0.5");
}

TEST(ScoreSheet, AnExpectationWithNanIsTheCasesFault) {
  EXPECT_EQ(grade({{1, 2}}, {{1, std::nan("")}}).fault, CaseFault::expected_not_finite);
}

TEST(ScoreSheet, NullOutputsAreInformativeOnlyWhereThereIsAChoice) {
  const Comparator mode{.mode = Mode::topk_scores, .floor = 0.875, .k = 2};
  const auto check = [&](const Sheet& e) { return null_check(mode, {}, sheet(e).view()); };
  EXPECT_TRUE(check({{1, 2, 3, 4}}).informative);  // zeros pick the first two
  EXPECT_EQ(check({{1, 2, 3, 4}}).score, 0.0);
  EXPECT_FALSE(check({{4, 3, 2, 1}}).informative);  // and here they are right
  EXPECT_FALSE(check({{1, 2, -inf, -inf}}).informative);
  EXPECT_NEAR(check({{1, 2, 3}}).limit, 0.855, 1e-12);
}

// ---- index outputs ----

Selection selection(const Sheet& scores, std::vector<std::int64_t> visible,
                    std::vector<std::vector<std::int32_t>> forced) {
  Selection s;
  s.width = static_cast<std::int64_t>(scores[0].size());
  for (const auto& row : scores) s.scores.insert(s.scores.end(), row.begin(), row.end());
  s.visible = std::move(visible);
  s.forced = std::move(forced);
  return s;
}

Comparison choose(const std::vector<std::vector<std::int32_t>>& rows, const Selection& s) {
  const Tensor t({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())}, DType::i32);
  auto to = t.values<std::int32_t>().begin();
  for (const auto& row : rows) to = std::copy(row.begin(), row.end(), to);
  return compare_indices(0.90, t.view(), s);
}

const Selection six = selection({{1, 6, 2, 5, 3, 4}}, {6}, {{0}});  // best: forced 0, then 1 and 3

TEST(Indices, OrderIsFreeAndTheBestSetPasses) {
  EXPECT_TRUE(choose({{0, 1, 3}}, six).passed);
  EXPECT_TRUE(choose({{3, 0, 1}}, six).passed);
  EXPECT_EQ(choose({{0, 1, 5}}, six).score, 2.0 / 3);
  EXPECT_FALSE(choose({{0, 1, 5}}, six).passed);
}

TEST(Indices, StructuralFaultsFailWithScoreZero) {
  const std::int32_t poison = std::numeric_limits<std::int32_t>::max() - 3;
  for (const std::vector<std::int32_t>& row : {std::vector<std::int32_t>{0, 1, poison},
                                               {0, 1, 6},     // from the future
                                               {0, 1, -2},    // neither a block nor the mark of none
                                               {0, 1, 1},     // repeated
                                               {0, 1, -1},    // one dropped
                                               {1, 3, 5}}) {  // forced block missing
    const Comparison c = choose({row}, six);
    EXPECT_FALSE(c.passed);
    EXPECT_EQ(c.score, 0.0);
    EXPECT_EQ(c.max_abs, inf);
    EXPECT_FALSE(c.reason.empty());
    EXPECT_EQ(c.fault, CaseFault::none);
  }
}

TEST(Indices, PoisonOfWiderIntegersIsNoBlock) {
  for (const std::int64_t bad : {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    const Tensor t({1, 3}, DType::i64);
    const auto to = t.values<std::int64_t>();
    to[1] = 1;
    to[2] = bad;
    EXPECT_EQ(compare_indices(0.90, t.view(), six).score, 0.0);
    EXPECT_FALSE(compare_indices(0.90, t.view(), six).passed);
  }
}

TEST(Indices, PaddingMayNotBeReplacedByExtraBlocks) {
  const Selection two = selection({{1, 2, 0, 0}}, {2}, {{}});
  EXPECT_TRUE(choose({{1, 0, -1}}, two).passed);
  EXPECT_FALSE(choose({{1, 0, 2}}, two).passed);
  EXPECT_FALSE(choose({{1, -1, -1}}, two).passed);
}

TEST(Indices, AMinusOneBeforeABlockOnlyWarns) {
  const Selection two = selection({{1, 2, 0, 0}}, {2}, {{}});
  const Comparison c = choose({{-1, 1, 0}}, two);
  EXPECT_TRUE(c.passed);
  EXPECT_EQ(c.warning, "row (0): -1 stands before block 1");
}

TEST(Indices, RowsWithNothingVisibleWantOnlyMinusOne) {
  const Selection none = selection({{0, 0}}, {0}, {{}});
  EXPECT_TRUE(choose({{-1, -1}}, none).passed);
  EXPECT_FALSE(choose({{0, -1}}, none).passed);
}

// One wrong block in every row of width 16 is 0.9375: over the slot's 0.90, under what 64 rows ask for.
TEST(Indices, OneWrongBlockInEveryRowNeverPassesOnManyRows) {
  for (const std::int64_t topk : {4, 8, 16, 64}) {
    Sheet scores;
    std::vector<std::vector<std::int32_t>> rows;
    for (int r = 0; r < 64; ++r) {
      std::vector<double> row;
      std::vector<std::int32_t> picked;
      for (std::int64_t b = 0; b < topk + 4; ++b) {
        row.push_back(static_cast<double>(100 - b));
        if (b < topk - 1) picked.push_back(static_cast<std::int32_t>(b));
      }
      picked.push_back(static_cast<std::int32_t>(topk + 3));
      scores.push_back(row);
      rows.push_back(picked);
    }
    const Selection s =
        selection(scores, std::vector<std::int64_t>(64, topk + 4), std::vector<std::vector<std::int32_t>>(64));
    EXPECT_FALSE(choose(rows, s).passed) << topk;
  }
}

TEST(Indices, AllEqualScoresAcceptAnyChoice) {
  EXPECT_TRUE(choose({{5, 2, 4}}, selection({{0, 0, 0, 0, 0, 0}}, {6}, {{5}})).passed);
}

// The exact best set always scores 1, and replacing one clear winner by a clear loser always scores less.
TEST(Indices, ExactSelectionsPassAndWorseOnesScoreLess) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const PhiloxBlock draw = philox({{0, 0, 0, 0}}, derive_key(seed, "topk"));
    const auto visible = static_cast<std::int64_t>(2 + draw.word[0] % 20);
    const auto topk = static_cast<std::int64_t>(1 + draw.word[1] % static_cast<std::uint32_t>(visible - 1));
    std::vector<double> scores;
    std::vector<std::int32_t> order;
    for (std::int64_t b = 0; b < visible; ++b) {
      scores.push_back(philox({{1, 0, 0, 0}}, derive_key(seed, "score", static_cast<std::uint64_t>(b))).word[0] / 1e6);
      order.push_back(static_cast<std::int32_t>(b));
    }
    std::sort(order.begin(), order.end(), [&](std::int32_t x, std::int32_t y) {
      return scores[static_cast<std::size_t>(x)] > scores[static_cast<std::size_t>(y)];
    });
    const Selection s = selection({scores}, {visible}, {{}});
    std::vector<std::int32_t> best(order.begin(), order.begin() + topk);
    EXPECT_EQ(choose({best}, s).score, 1.0);
    std::reverse(best.begin(), best.end());
    EXPECT_EQ(choose({best}, s).score, 1.0);
    best.back() = order.back();
    EXPECT_LT(choose({best}, s).score, 1.0);
  }
}

TEST(Indices, NullOutputIsTheForcedSetAndTheLowestBlocks) {
  const Selection s = selection({{0, 0, 0, 7, 8, 9}}, {6}, {{5}});
  const NullCheck check = null_check_indices(0.90, {1, 3}, s);
  EXPECT_EQ(check.score, 1.0 / 3);
  EXPECT_TRUE(check.informative);
  EXPECT_FALSE(null_check_indices(0.90, {1, 6}, s).informative);  // all selected
  EXPECT_FALSE(null_check_indices(0.90, {1, 3}, selection({{9, 8, 7, 0, 0, 0}}, {6}, {{}})).informative);
}

TEST(Indices, ASelectionOfAnotherSizeOrNotFiniteIsNotTheCandidates) {
  EXPECT_THROW((void)choose({{0}, {0}}, six), std::invalid_argument);
  EXPECT_EQ(choose({{0, 1, 2}}, selection({{0, inf, 0, 0}}, {4}, {{}})).fault, CaseFault::expected_not_finite);
  EXPECT_THROW((void)compare_indices(0.9, Tensor({1, 1}, DType::f32).view(), six), std::invalid_argument);
}

}  // namespace
}  // namespace assay
