#include "harness/compare/structure.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "harness/tensor/fill.hpp"

namespace assay {
namespace {

struct Pair {
  Tensor actual, expected, magnitude;
  Pair(Extents shape, DType dtype) : actual(shape, dtype), expected(shape, DType::f64), magnitude(shape, DType::f64) {
    fill_tensor(expected.view(), {.key = 5});
    for (std::int64_t i = 0; i < expected.size(); ++i) {
      double& e = expected.values<double>()[static_cast<std::size_t>(i)];
      e /= 3.0;  // no longer exact in any short format
      magnitude.values<double>()[static_cast<std::size_t>(i)] = std::fabs(e);
      set(i, e);
    }
  }
  void set(std::int64_t cell, double value) { store_value(actual.view().data, actual.view().dtype, cell, value); }
  [[nodiscard]] double at(std::int64_t cell) const { return expected.values<double>()[static_cast<std::size_t>(cell)]; }
  [[nodiscard]] StructureReport test(const Grouping& grouping, double floor) const {
    const DType dtype = actual.view().dtype;
    return test_groups(grouping,
                       {actual.view(), expected.view(), magnitude.view(), dtype, tolerance_for(dtype), floor});
  }
};

TEST(AllowedMisses, AreTheQuantilesOfTheSpecification) {
  EXPECT_EQ(allowed_misses(128, 0.99), 12);
  EXPECT_EQ(allowed_misses(128, 0.97), 20);
  EXPECT_EQ(allowed_misses(16, 0.99), 6);
  EXPECT_EQ(allowed_misses(128, 1.0), 0);
  EXPECT_EQ(allowed_misses(0, 0.97), 0);
  EXPECT_EQ(allowed_misses(1, 0.97), 1);
  EXPECT_EQ(allowed_misses(5, 0.0), 5);
  // Six deviations for a billionth, once n is large: the sum neither underflows nor loses its place.
  EXPECT_NEAR(static_cast<double>(allowed_misses(10'000'000, 0.97)), 300'000 + 6.0 * std::sqrt(291'000.0), 60.0);
}

TEST(Groups, CorrectRoundingPassesInEveryDtype) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    const Pair pair({8, 4, 128}, dtype);
    for (const Grouping& grouping : {group_rows({8, 4, 128}), group_dim("head", {8, 4, 128}, 1),
                                     group_dim("column", {8, 4, 128}, 2), group_column_tail({8, 4, 128}, 96)})
      EXPECT_TRUE(pair.test(grouping, 0.99).passed) << pair.test(grouping, 0.99).reason;
  }
}

// 1 of 64 heads is dead: 1.6 % of the cells, which a matched ratio of 0.97 forgives.
TEST(Groups, ADeadHeadUnderTheMatchedRatioIsFound) {
  const Extents shape = {16, 64, 128};
  Pair pair(shape, DType::bf16);
  for (std::int64_t row = 0; row < 16; ++row)
    for (std::int64_t c = 0; c < 128; ++c) pair.set((row * 64 + 37) * 128 + c, 0.0);
  EXPECT_TRUE(compare({.mode = Mode::matched_ratio, .floor = 0.97}, tolerance_for(DType::bf16), pair.actual.view(),
                      pair.expected.view())
                  .passed);
  const StructureReport report = pair.test(group_dim("head", shape, 1), 0.97);
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.failed, 1);
  EXPECT_EQ(report.worst.at(0).group, 37);
  EXPECT_EQ(report.worst[0].cells, 2048);
  EXPECT_NEAR(report.worst[0].error, 1.0, 0.02);
  EXPECT_EQ(report.reason.substr(0, 9), "head 37: ");
  EXPECT_FALSE(pair.test(group_rows(shape), 0.97).passed);
}

// One row's values are 3 % short. In fp32 that is far over the tolerance; the other rows show that it is not chance.
TEST(Groups, ThreePerCentOfOneRowLostIsFoundByItsError) {
  Pair pair({64, 256}, DType::f32);
  for (std::int64_t c = 0; c < 256; ++c) pair.set(9 * 256 + c, 0.97 * pair.at(9 * 256 + c));
  const StructureReport report = pair.test(group_rows({64, 256}), 0.0);  // by the error alone
  ASSERT_FALSE(report.passed);
  EXPECT_EQ(report.failed, 1);
  EXPECT_EQ(report.worst.at(0).group, 9);
  EXPECT_NEAR(report.worst[0].error, 0.03, 1e-3);
}

TEST(Groups, MissesWithinChancePassAndOneMoreFails) {
  Pair pair({8, 128}, DType::f32);
  const auto miss = [&](std::int64_t column) {  // just past the tolerance, away from zero
    const double e = pair.at(3 * 128 + column);
    pair.set(3 * 128 + column, e * (1 + 3e-5) + std::copysign(2e-5, e));
  };
  for (std::int64_t c = 0; c < 20; ++c) miss(c);
  EXPECT_TRUE(pair.test(group_rows({8, 128}), 0.97).passed);
  miss(20);
  EXPECT_EQ(pair.test(group_rows({8, 128}), 0.97).reason, "row 3: 21 of 128 cells miss, 20 allowed");
}

TEST(Groups, AWrongColumnTailIsFoundAndNamed) {
  const Extents shape = {64, 131};
  Pair pair(shape, DType::bf16);
  for (std::int64_t r = 0; r < 64; ++r)
    for (std::int64_t c = 128; c < 131; ++c) pair.set(r * 131 + c, 0.0);
  const StructureReport report = pair.test(group_column_tail(shape, 8), 0.97);
  ASSERT_FALSE(report.passed);
  EXPECT_EQ(report.reason.substr(0, 13), "column tail: ");
  EXPECT_EQ(group_column_tail({4, 128}, 8).count, 1);
}

TEST(Groups, IrregularOnesAreNamedByACellsOwnNumber) {
  Pair pair({4, 64}, DType::bf16);
  Grouping expert{.name = "expert", .count = 3};
  for (const std::uint32_t e : {0U, 2U, 0U, 1U}) expert.of_cell.insert(expert.of_cell.end(), 64, e);
  for (std::int64_t c = 0; c < 64; ++c) pair.set(64 + c, 0.0);
  EXPECT_EQ(pair.test(expert, 0.97).worst.at(0).group, 2);
  expert.of_cell.pop_back();
  EXPECT_THROW((void)pair.test(expert, 0.97), std::invalid_argument);
}

// A reduction in bf16 may leave a residue where the exact sum is zero: its partial sums were rounded.
TEST(Groups, ARowThatCancelsToZeroIsNotCondemnedForRoundedPartials) {
  Pair pair({8, 128}, DType::bf16);
  for (std::int64_t c = 0; c < 128; ++c) {
    const auto i = static_cast<std::size_t>(2 * 128 + c);
    pair.expected.values<double>()[i] = 0.0;
    pair.magnitude.values<double>()[i] = 2.0;
    pair.set(2 * 128 + c, c % 2 == 0 ? 0.008 : -0.008);
  }
  EXPECT_TRUE(pair.test(group_rows({8, 128}), 0.99).passed);
  for (std::int64_t c = 0; c < 128; ++c) pair.set(2 * 128 + c, 0.5);
  EXPECT_FALSE(pair.test(group_rows({8, 128}), 0.99).passed);
}

TEST(Groups, FlushedSubnormalRowsPass) {
  Pair pair({4, 32}, DType::f32);
  for (std::int64_t c = 0; c < 32; ++c) {
    pair.expected.values<double>()[static_cast<std::size_t>(c)] = 0x1p-140;
    pair.set(c, 0.0);
  }
  EXPECT_TRUE(pair.test(group_rows({4, 32}), 1.0).passed);
}

TEST(Groups, NanCountsAsAMissAndEmptyOutputsPass) {
  Pair pair({4, 32}, DType::f32);
  pair.set(40, std::nan(""));
  const StructureReport report = pair.test(group_rows({4, 32}), 1.0);
  ASSERT_FALSE(report.passed);
  EXPECT_EQ(report.worst.at(0).group, 1);
  EXPECT_TRUE(Pair({0, 32}, DType::f32).test(group_rows({0, 32}), 0.99).passed);
  EXPECT_TRUE(Pair({}, DType::f32).test(group_rows({}), 0.99).passed);
}

}  // namespace
}  // namespace assay
