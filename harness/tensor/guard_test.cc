#include "harness/tensor/guard.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "harness/tensor/cells.hpp"
#include "harness/tensor/layout.hpp"

namespace assay {
namespace {

std::vector<std::byte> painted(const Box& box, Guard guard = Guard::canary) {
  std::vector<std::byte> region(box.region_bytes);
  paint(region, box, guard);
  return region;
}

const Box padded = lay_out({.dtype = DType::bf16, .shape = {3, 7}, .row_padding = 8, .alignment = 16});

TEST(Layout, PaddedStridesFollowTheSpecification) {
  EXPECT_EQ(padded_strides({5}, 3), (Extents{4}));
  EXPECT_EQ(padded_strides({2, 3, 10}, 6), (Extents{48, 16, 1}));
  EXPECT_EQ(padded_strides({4, 0}, 2), (Extents{3, 1}));
  EXPECT_EQ(padded_strides({4, 6}, 0), contiguous_strides({4, 6}));
  EXPECT_EQ(padded_strides({}, 2), Extents{});
}

TEST(Layout, StridedMeansRowMajorWithoutOverlapOrColumnGaps) {
  EXPECT_TRUE(is_strided({2, 3}, {3, 1}));
  EXPECT_TRUE(is_strided({2, 3}, {9, 1}));
  EXPECT_TRUE(is_strided({4}, {5}));
  EXPECT_TRUE(is_strided({1, 1}, {0, 0}));
  EXPECT_TRUE(is_strided({0, 3}, {-1, -1}));
  EXPECT_FALSE(is_strided({2, 3}, {1, 2}));  // permuted
  EXPECT_FALSE(is_strided({2, 3}, {8, 2}));  // column gaps
  EXPECT_FALSE(is_strided({2, 3}, {2, 1}));  // overlap
  EXPECT_FALSE(is_strided({2, 3}, {-3, 1}));
  EXPECT_FALSE(is_strided({2, 3}, {0, 1}));  // broadcast
  EXPECT_FALSE(is_strided({2, 3}, {3}));
}

TEST(Layout, CellZeroKeepsThePromisedAlignmentAndNoBetter) {
  for (std::uint64_t a = 2; a <= 2048; a *= 2)
    for (const std::int64_t offset : {0, 1, 5, 64, 1000}) {
      const Box box = lay_out({.dtype = DType::bf16, .shape = {3, 5}, .offset = offset, .alignment = a});
      EXPECT_EQ(box.cell0_bytes % a, 0U);
      EXPECT_NE(box.cell0_bytes % (2 * a), 0U);
      EXPECT_GE(box.cell0_bytes, guard_bytes + static_cast<std::uint64_t>(offset) * 2);
      EXPECT_GE(box.region_bytes, box.cell0_bytes + box.span_bytes() + guard_bytes);
      EXPECT_EQ(box.region_bytes % region_alignment, 0U);
    }
  EXPECT_EQ(lay_out({.dtype = DType::f64, .shape = {3}, .alignment = 1}).cell0_bytes % 8, 0U);
}

TEST(Layout, ImpossibleRequestsAreRefused) {
  EXPECT_THROW((void)lay_out({.shape = {3}, .alignment = 24}), std::invalid_argument);
  EXPECT_THROW((void)lay_out({.shape = {3}, .alignment = 4096}), std::invalid_argument);
  EXPECT_THROW((void)lay_out({.shape = {-1}}), std::invalid_argument);
  EXPECT_THROW((void)lay_out({.shape = {3}, .row_padding = -1}), std::invalid_argument);
  EXPECT_THROW((void)lay_out_flush({.shape = {3}}, Flush::end, 1000), std::invalid_argument);
}

TEST(Layout, FlushCellsTouchTheEdgeOfTheirPages) {
  const LayoutRequest request{.dtype = DType::bf16, .shape = {3, 2000}, .row_padding = 8, .alignment = 2};
  const Box end = lay_out_flush(request, Flush::end, 4096);
  EXPECT_EQ(end.cell0_bytes + end.span_bytes(), end.region_bytes);
  EXPECT_EQ(end.region_bytes, 3U * 4096);
  EXPECT_EQ(lay_out_flush(request, Flush::start, 4096).cell0_bytes, 0U);
  // 7 bf16 cells at a promise of 16 bytes: two bytes stay between the last cell and the edge.
  const Box slack = lay_out_flush({.dtype = DType::bf16, .shape = {7}, .alignment = 16}, Flush::end, 4096);
  EXPECT_EQ(slack.cell0_bytes, 4096U - 16);
  EXPECT_EQ(lay_out_flush({.shape = {0, 4}}, Flush::end, 4096).region_bytes, 4096U);
}

TEST(Canaries, UntouchedRegionsAreCleanForEveryLayout) {
  for (const Guard guard : {Guard::canary, Guard::float_input, Guard::integer_input})
    for (const Extents& shape : {Extents{}, Extents{0, 4}, Extents{9}, Extents{3, 7}, Extents{2, 3, 1, 5}})
      for (const std::int64_t padding : {0, 3}) {
        const LayoutRequest request{.shape = shape, .row_padding = padding, .alignment = 4};
        for (const Box& box :
             {lay_out(request), lay_out_flush(request, Flush::start, 4096), lay_out_flush(request, Flush::end, 4096)}) {
          std::vector<std::byte> region = painted(box, guard);
          paint_poison(region, box, poison_bits(box.dtype, Poison::first));
          EXPECT_TRUE(scan(region, box, guard).clean());
        }
      }
}

TEST(Canaries, TheOutputPatternIsTheSpecifiedOne) {
  const std::vector<std::byte> region = painted(padded);
  EXPECT_EQ(std::to_integer<int>(region[0]), 0xC3);
  EXPECT_EQ(std::to_integer<unsigned>(region[4095]), 0xC3U ^ (4095U * 31 & 0xFF));
  EXPECT_EQ(std::to_integer<unsigned>(region.back()), 0xC3U ^ ((region.size() - 1) * 31 & 0xFF));
}

// Every byte that is no cell is watched, and no byte of a cell is: flip each one in turn.
TEST(Canaries, ExactlyTheBytesOutsideCellsAreWatched) {
  std::vector<std::byte> region = painted(padded);
  for (std::uint64_t i = 0; i < region.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(padded.cell0_bytes);
    const bool cell = at >= 0 && at / 2 / 15 < 3 && at / 2 % 15 < 7;
    region[i] ^= std::byte{1};
    ASSERT_EQ(scan(region, padded, Guard::canary).changed, cell ? 0U : 1U) << i;
    region[i] ^= std::byte{1};
  }
}

TEST(Canaries, ReportsSayWhere) {
  std::vector<std::byte> region = painted(padded);
  const std::uint64_t cell0 = padded.cell0_bytes;
  const std::uint64_t past = cell0 + padded.span_bytes();
  region[cell0 - 2] ^= std::byte{0xff};
  region[cell0 + 7 * 2] ^= std::byte{0xff};
  region[past] ^= std::byte{0xff};
  const CanaryReport report = scan(region, padded, Guard::canary);
  ASSERT_EQ(report.first.size(), 3U);
  EXPECT_EQ(report.first[0].band, Band::before);
  EXPECT_EQ(report.first[1].band, Band::padding);
  EXPECT_EQ(report.first[2].band, Band::after);
  EXPECT_EQ(report.first[2].offset, past);
  EXPECT_NE(report.text.find("3 bytes changed; the first is 2 bytes before the first cell"), std::string::npos);
}

TEST(Canaries, TheCountGoesOnWhenTheListIsFull) {
  std::vector<std::byte> region = painted(padded);
  std::memset(region.data(), 0x11, 4096);
  const CanaryReport report = scan(region, padded, Guard::canary);
  EXPECT_EQ(report.first.size(), 16U);
  EXPECT_EQ(report.changed, 4096U - 16);  // one byte in 256 is 0x11 by nature
}

TEST(Canaries, RegionAndBoxMustAgree) {
  std::vector<std::byte> region(padded.region_bytes - 1);
  EXPECT_THROW(paint(region, padded, Guard::canary), std::invalid_argument);
  Box permuted = padded;
  permuted.strides = {1, 3};
  std::vector<std::byte> whole(padded.region_bytes);
  EXPECT_THROW(paint(whole, permuted, Guard::canary), std::invalid_argument);
}

TEST(Poisons, AreTheSpecifiedPatterns) {
  EXPECT_EQ(poison_bits(DType::bf16, Poison::first, 3), 0x7FDAU);
  EXPECT_EQ(poison_bits(DType::f16, Poison::first), 0x7E5AU);
  EXPECT_EQ(poison_bits(DType::f32, Poison::first, 99), 0x7FC5A5A5U);
  EXPECT_EQ(poison_bits(DType::i32, Poison::first, 18), 0x7FFFFFFEU);
  EXPECT_EQ(poison_bits(DType::u8, Poison::first, 16), 0xEFU);
}

TEST(Poisons, FirstIsNanSecondIsLargeAndFiniteIntegersDiffer) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    const std::uint64_t first = poison_bits(dtype, Poison::first);
    const std::uint64_t second = poison_bits(dtype, Poison::second);
    EXPECT_TRUE(std::isnan(value_at(&first, dtype, 0)));
    EXPECT_TRUE(std::isfinite(value_at(&second, dtype, 0)));
    EXPECT_GT(value_at(&second, dtype, 0), dtype == DType::f16 ? 5e4 : 1e37);
  }
  for (std::uint32_t r = 0; r < 17; ++r) {
    const std::uint64_t second = poison_bits(DType::i32, Poison::second, r);
    EXPECT_LT(value_at(&second, DType::i32, 0), -2e9);
  }
}

TEST(Poisons, CellsThatKeepThePoisonAreFoundAndOthersAreNot) {
  std::vector<std::byte> region = painted(padded);
  const std::uint64_t bits = poison_bits(padded.dtype, Poison::first, 16);
  paint_poison(region, padded, bits);
  EXPECT_EQ(scan_poison(region, padded, bits).count, 21);
  const Tensor written({3, 7}, DType::bf16);
  for (auto& cell : written.values<std::uint16_t>()) cell = 0x7FC0;  // a NaN, but a computed one
  deposit(region, padded, written.view());
  EXPECT_EQ(scan_poison(region, padded, bits).count, 0);
  written.values<std::uint16_t>()[20] = static_cast<std::uint16_t>(bits);
  deposit(region, padded, written.view());
  EXPECT_EQ(scan_poison(region, padded, bits).cells, (std::vector<std::int64_t>{20}));
  EXPECT_TRUE(scan(region, padded, Guard::canary).clean());
  EXPECT_EQ(std::memcmp(extract(region, padded).view().data, written.view().data, 42), 0);
}

TEST(Cells, PatternsAreNamed) {
  const auto say = [](const Extents& shape, std::vector<std::int64_t> cells) {
    return describe_cells(shape, cells, static_cast<std::int64_t>(cells.size()));
  };
  EXPECT_EQ(say({3, 7}, {}), "no cells");
  EXPECT_EQ(say({3, 7}, {10}), "cell (1, 3)");
  EXPECT_EQ(say({3, 7}, {5, 6, 12, 13, 19, 20}), "tail of each row: columns 5 to 6 of 7");
  EXPECT_EQ(say({3, 7}, {6, 13, 20}), "tail of each row: column 6");
  EXPECT_EQ(say({3, 7}, {0, 1, 7, 8, 14, 15}), "head of each row: columns 0 to 1 of 7");
  EXPECT_EQ(say({2, 6}, {1, 3, 5, 7, 9, 11}), "every 2nd column, from 1");
  EXPECT_EQ(say({3, 2}, {2, 3}), "row 1 only");
  EXPECT_EQ(say({3, 2}, {5, 4}), "last row (row 2)");
  EXPECT_EQ(say({4, 2}, {2, 3, 4, 5, 6, 7}), "all of rows 1 to 3 of 4");
  EXPECT_EQ(say({3, 7}, {8, 9, 15, 16}), "rows 1 to 2 of 3, columns 1 to 2 of 7");
  EXPECT_EQ(say({3, 7}, {2, 9, 16}), "column 2 of each row");
  EXPECT_EQ(say({3, 2}, {0, 1, 2, 3, 4, 5}), "all 6 cells");
  EXPECT_EQ(say({3, 7}, {12, 13, 14, 15, 16, 17, 18, 19, 20}), "everything from cell (1, 5)");
  EXPECT_EQ(say({2, 3, 2}, {2, 3, 8, 9}), "dim 1 = 1");
  EXPECT_EQ(say({2, 4, 2}, {0, 1, 2, 3, 8, 9, 10, 11}), "dim 1: indices 0 to 1 of 4");
  EXPECT_EQ(say({9}, {6, 7, 8}), "tail: cells 6 to 8 of 9");
  EXPECT_EQ(say({}, {0}), "the only cell");
  EXPECT_EQ(say({3, 7}, {0, 9, 20}), "scattered: 3 of 21 cells, in 3 rows and 3 columns");
  const std::vector<std::int64_t> some = {7, 8};
  EXPECT_EQ(describe_cells({3, 7}, some, 9), "the first 2 of 9: row 1, columns 0 to 1 of 7");
}

}  // namespace
}  // namespace assay
