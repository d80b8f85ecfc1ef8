#include "harness/compare/comparators.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "harness/tensor/fill.hpp"

namespace assay {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr Tolerance tenth{0.1, 0.0};

Tensor tensor(Extents shape, const std::vector<double>& values) {
  Tensor t(std::move(shape), DType::f64);
  std::copy(values.begin(), values.end(), t.values<double>().begin());
  return t;
}

Comparison check(const Comparator& mode, const std::vector<double>& a, const std::vector<double>& e,
                 Tolerance tolerance = tenth) {
  const Extents shape = {static_cast<std::int64_t>(e.size())};
  return compare(mode, tolerance, tensor({static_cast<std::int64_t>(a.size())}, a).view(), tensor(shape, e).view());
}

constexpr Comparator close{};
constexpr Comparator most{.mode = Mode::matched_ratio, .floor = 0.75};
constexpr Comparator angle{.mode = Mode::cosine, .floor = 0.985, .max_norm_error = 0.10};

TEST(Tolerances, FollowTheRunsDtype) {
  EXPECT_EQ(tolerance_for(DType::bf16).atol, 2e-2);
  EXPECT_EQ(tolerance_for(DType::f16).rtol, 1e-2);
  EXPECT_EQ(tolerance_for(DType::f32).rtol, 1e-5);
  EXPECT_EQ(tolerance_for(DType::f64).atol, 1e-4);
}

TEST(AllClose, TheBoundItselfPassesAndAHairMoreFails) {
  EXPECT_TRUE(check(close, {1.5}, {1.0}, {0.25, 0.25}).passed);
  const Comparison c = check(close, {std::nextafter(1.5, 2.0), 0.0}, {1.0, 0.0}, {0.25, 0.25});
  EXPECT_FALSE(c.passed);
  EXPECT_EQ(c.wrong, 1);
  EXPECT_EQ(c.score, 0.5);
  EXPECT_EQ(c.fault, CaseFault::none);
}

TEST(AllClose, TheRelativePartIsOfTheExpectedValueNotTheActual) {
  EXPECT_FALSE(check(close, {100.0}, {1.0}, {0.0, 0.9}).passed);
}

TEST(AllClose, ListsTheWorstCellsAndTheirPattern) {
  std::vector<double> e(40, 1.0), a = e;
  for (std::size_t i = 20; i < 40; ++i) a[i] += static_cast<double>(i);
  const Comparison c = check(close, a, e);
  ASSERT_EQ(c.worst.size(), 16U);
  EXPECT_EQ(c.worst[0].cell, 39);
  EXPECT_EQ(c.worst[15].cell, 24);
  EXPECT_EQ(c.worst[0].expected, 1.0);
  EXPECT_EQ(c.worst[0].bound, 0.1);
  EXPECT_EQ(c.max_abs, 39.0);
  EXPECT_EQ(c.pattern, "tail: cells 20 to 39 of 40");
  EXPECT_EQ(c.reason, "20 of 40 cells differ: tail: cells 20 to 39 of 40");
}

TEST(Everywhere, EmptyOutputsPass) {
  for (const Comparator& mode : {close, most, angle, Comparator{.mode = Mode::topk_scores, .floor = 0.875}}) {
    const Tensor empty({0, 4}, DType::f64);
    const Comparison c = compare(mode, tenth, empty.view(), empty.view());
    EXPECT_TRUE(c.passed);
    EXPECT_EQ(c.score, 1.0);
  }
}

TEST(Everywhere, AnotherShapeFailsWithScoreZero) {
  const Comparison c = compare(most, tenth, tensor({2, 2}, {1, 1, 1, 1}).view(), tensor({4}, {1, 1, 1, 1}).view());
  EXPECT_FALSE(c.passed);
  EXPECT_EQ(c.score, 0.0);
  EXPECT_EQ(c.max_abs, inf);
  EXPECT_EQ(c.fault, CaseFault::none);
}

TEST(Everywhere, OneNanOrInfinityFailsTheWholeOutput) {
  std::vector<double> e(1000, 1.0);
  for (const Comparator& mode : {close, Comparator{.mode = Mode::matched_ratio, .floor = 0.5}, angle})
    for (const double bad : {nan, inf, -inf}) {
      std::vector<double> a = e;
      a[7] = bad;
      const Comparison c = check(mode, a, e);
      EXPECT_FALSE(c.passed);
      EXPECT_EQ(c.score, 0.0);
      EXPECT_EQ(c.wrong, 1);
      EXPECT_EQ(c.worst.at(0).cell, 7);
      EXPECT_EQ(c.max_rel, inf);
      EXPECT_EQ(c.reason, "1 cells are NaN or infinite: cell (7)");
    }
}

TEST(Everywhere, AnExpectationThatIsNotFiniteIsTheCasesFault) {
  for (const Comparator& mode : {close, most, angle}) {
    const Comparison c = check(mode, {1.0, 1.0}, {1.0, nan});
    EXPECT_FALSE(c.passed);
    EXPECT_EQ(c.fault, CaseFault::expected_not_finite);
  }
}

TEST(MatchedRatio, TheFloorItselfPasses) {
  EXPECT_TRUE(check(most, {1, 1, 1, 9}, {1, 1, 1, 1}).passed);
  const Comparison c = check(most, {1, 1, 9, 9}, {1, 1, 1, 1});
  EXPECT_FALSE(c.passed);
  EXPECT_EQ(c.score, 0.5);
  for (const double floor : {0.97, 0.99}) {  // shares such as 97/100 compare equal to the literal
    std::vector<double> e(100, 1.0), a = e;
    for (int i = 0; i < std::lround((1 - floor) * 100); ++i) a[static_cast<std::size_t>(i)] = 5.0;
    EXPECT_TRUE(check({.mode = Mode::matched_ratio, .floor = floor}, a, e).passed);
  }
}

// A sum that cancels keeps the rounding of its terms, and a right fp32 kernel has it, too.
TEST(MatchedRatio, ErrorsThatSumsOfThatMagnitudeExplainAreWithin) {
  const Tensor actual = tensor({2}, {1.05, 2.0}), expected = tensor({2}, {1.0, 2.0});
  const Tensor magnitude = tensor({2}, {10.0, 2.0});
  const TensorView& m = magnitude.view();
  Comparator mode{.mode = Mode::matched_ratio, .floor = 0.97};
  const Tolerance hundredth{0.0, 0.01};
  EXPECT_FALSE(compare(mode, hundredth, actual.view(), expected.view(), &m).passed);  // nothing explained
  mode.explained = 0.0049;
  EXPECT_FALSE(compare(mode, hundredth, actual.view(), expected.view(), &m).passed);
  mode.explained = 0.0051;
  EXPECT_TRUE(compare(mode, hundredth, actual.view(), expected.view(), &m).passed);
  EXPECT_FALSE(compare(mode, hundredth, actual.view(), expected.view()).passed) << "without a magnitude";
}

TEST(Cosine, DirectionAndLengthAreBothGraded) {
  const std::vector<double> e = {3, -4, 12};
  EXPECT_TRUE(check(angle, e, e).passed);
  EXPECT_TRUE(check(angle, {3.27, -4.36, 13.08}, e).passed);     // 9 % longer
  const Comparison longer = check(angle, {3.6, -4.8, 14.4}, e);  // 20 % longer
  EXPECT_FALSE(longer.passed);
  EXPECT_NEAR(longer.score, 1.0, 1e-15);
  EXPECT_TRUE(check({.mode = Mode::cosine, .floor = 0.985}, {3.6, -4.8, 14.4}, e).passed);  // without the guard
  EXPECT_FALSE(check(angle, {-3, 4, -12}, e).passed);
  const Comparison nothing = check(angle, {0, 0, 0}, e);
  EXPECT_FALSE(nothing.passed);
  EXPECT_EQ(nothing.score, 0.0);
}

TEST(Cosine, AnAllZeroExpectationIsVacuous) { EXPECT_EQ(check(angle, {0, 0}, {0, 0}).fault, CaseFault::vacuous); }

TEST(Outputs, AreReadInTheirOwnDtypeAndStrides) {
  std::vector<std::uint16_t> memory(2 * 5, to_bf16(99.0F));
  for (const std::size_t i : {0U, 1U, 5U, 6U}) memory[i] = to_bf16(1.5F);
  const TensorView padded{memory.data(), DType::bf16, {2, 2}, {5, 1}};
  EXPECT_TRUE(compare(close, tenth, padded, tensor({2, 2}, {1.5, 1.5, 1.5, 1.5}).view()).passed);
}

TEST(Combine, OneBadOutputFailsTheCall) {
  const Comparison good = check(close, {1, 1}, {1, 1}), bad = check(close, {1, 3}, {1, 1});
  const Comparison faulty = check(close, {1, 3}, {1, nan});
  std::vector<Comparison> both = {good, bad};
  const Comparison c = combine(both, 2);
  EXPECT_FALSE(c.passed);
  EXPECT_EQ(c.score, 0.5);
  EXPECT_EQ(c.max_abs, 2.0);
  EXPECT_EQ(c.reason, bad.reason);
  both = {faulty, bad};
  EXPECT_EQ(combine(both, 2).fault, CaseFault::none);  // the candidate's failure is not hidden by the case's
  both = {good, faulty};
  EXPECT_EQ(combine(both, 2).fault, CaseFault::expected_not_finite);
  both = {good, good};
  EXPECT_TRUE(combine(both, 2).passed);
  EXPECT_FALSE(combine(both, 3).passed);
  EXPECT_EQ(combine(both, 3).score, 0.0);
}

TEST(NullCheck, SmallOutputsThatZerosWouldPassAreNotInformative) {
  const Tolerance bf16 = tolerance_for(DType::bf16);
  const auto informative = [&](const Comparator& mode, const std::vector<double>& e) {
    return null_check(mode, bf16, tensor({static_cast<std::int64_t>(e.size())}, e).view()).informative;
  };
  for (const Comparator& mode : {close, most}) {
    EXPECT_FALSE(informative(mode, {0.002, -0.002, 0.001}));
    EXPECT_FALSE(informative(mode, {0, 0, 0, 1}));
    EXPECT_TRUE(informative(mode, {0, 0, 1, 1}));  // exactly half
    EXPECT_FALSE(informative(mode, {}));
  }
  EXPECT_TRUE(informative(angle, {0.002, -0.002}));  // cosine looks at directions: zeros score 0
  EXPECT_FALSE(informative(angle, {0.0, 0.0}));
}

TEST(Compare, RefusesIndexModesAndRoundedExpectations) {
  const Tensor f64({1}, DType::f64), f32({1}, DType::f32);
  EXPECT_THROW((void)compare({.mode = Mode::topk_indices}, tenth, f64.view(), f64.view()), std::invalid_argument);
  EXPECT_THROW((void)compare(close, tenth, f64.view(), f32.view()), std::invalid_argument);
}

}  // namespace
}  // namespace assay
