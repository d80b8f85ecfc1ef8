#include "assay/tensor.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "harness/tensor/half.hpp"

namespace assay {
namespace {

constexpr DType every_dtype[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64, DType::u8};

TEST(DTypes, NamesReadBackToTheSameType) {
  for (const DType dtype : every_dtype) EXPECT_EQ(dtype_from(name_of(dtype)), dtype);
  EXPECT_EQ(name_of(DType::bf16), "bf16");
  EXPECT_EQ(size_of(DType::f16), 2U);
  EXPECT_FALSE(is_float(DType::i64));
  EXPECT_THROW((void)dtype_from("float"), std::invalid_argument);
  EXPECT_EQ(device_from(name_of(DeviceType::cuda)), DeviceType::cuda);
  EXPECT_THROW((void)device_from("gpu"), std::invalid_argument);
}

// Each 16-bit pattern but NaN survives the way to float and back; NaNs stay NaNs with their payload.
TEST(Halves, EveryPatternSurvivesTheRoundTrip) {
  for (std::uint32_t i = 0; i <= 0xffffU; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float f16 = from_f16(bits);
    const float bf16 = from_bf16(bits);
    if (std::isnan(f16)) {
      EXPECT_EQ(to_f16(f16), bits | 0x200U);
    } else {
      EXPECT_EQ(to_f16(f16), bits);
    }
    if (std::isnan(bf16)) {
      EXPECT_EQ(to_bf16(bf16), bits | 0x40U);
    } else {
      EXPECT_EQ(to_bf16(bf16), bits);
    }
  }
}

#if defined(__FLT16_MANT_DIG__)
TEST(Halves, AgreeWithTheCompilersOwnType) {
  std::uint32_t state = 1;
  for (int i = 0; i < 2'000'000; ++i) {
    state = state * 1664525U + 1013904223U;
    // Exponents around fp16's range, so that normals, subnormals, ties and overflow all occur.
    const float value = half::float_of((state & 0x807fffffU) | ((100U + (state >> 23) % 45U) << 23));
    ASSERT_EQ(to_f16(value), std::bit_cast<std::uint16_t>(static_cast<_Float16>(value))) << value;
  }
}
#endif

// Half way between neighbours goes to the even one; a hair above it goes up.
TEST(Halves, StoringAFloat64RoundsOnceAndNotTwice) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const double ulp = dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
    std::uint16_t cell = 0;
    store_value(&cell, dtype, 0, 1.0 + ulp / 2);
    EXPECT_EQ(value_at(&cell, dtype, 0), 1.0);
    store_value(&cell, dtype, 0, 1.0 + ulp / 2 + 0x1p-50);  // a detour through float would lose the last term
    EXPECT_EQ(value_at(&cell, dtype, 0), 1.0 + ulp);
    store_value(&cell, dtype, 0, 1.0 + 3 * ulp / 2 - 0x1p-50);
    EXPECT_EQ(value_at(&cell, dtype, 0), 1.0 + ulp);
    store_value(&cell, dtype, 0, -1e300);
    EXPECT_EQ(value_at(&cell, dtype, 0), -std::numeric_limits<double>::infinity());
    store_value(&cell, dtype, 0, std::nan(""));
    EXPECT_TRUE(std::isnan(value_at(&cell, dtype, 0)));
    store_value(&cell, dtype, 0, -0.0);
    EXPECT_TRUE(std::signbit(value_at(&cell, dtype, 0)));
  }
}

TEST(Halves, LargestFiniteAndOverflowMeetWhereIeeeSaysSo) {
  EXPECT_EQ(to_f16(65519.996F), 0x7bffU);
  EXPECT_EQ(to_f16(65520.0F), 0x7c00U);
  EXPECT_EQ(to_f16(0x1p-25F), 0x0000U);
  EXPECT_EQ(to_f16(0x1.000002p-25F), 0x0001U);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80U);
}

TEST(Values, IntegersTruncateAndSaturate) {
  std::int32_t i32 = 0;
  store_value(&i32, DType::i32, 0, -2.9);
  EXPECT_EQ(i32, -2);
  store_value(&i32, DType::i32, 0, 1e18);
  EXPECT_EQ(i32, std::numeric_limits<std::int32_t>::max());
  std::uint8_t u8 = 1;
  store_value(&u8, DType::u8, 0, std::nan(""));
  EXPECT_EQ(u8, 0);
}

TEST(Extent, SpansCountFromTheFirstCellToThePastLast) {
  EXPECT_EQ(span_of({}, {}), 1);
  EXPECT_EQ(span_of({3, 0, 2}, {9, 9, 1}), 0);
  EXPECT_EQ(span_of({3, 7}, {15, 1}), 37);
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Extents{12, 4, 1}));
}

TEST(Views, ContiguityIgnoresStridesOfSingleCellsAndEmptyTensors) {
  TensorView view{nullptr, DType::f32, {1, 4}, {99, 1}};
  EXPECT_TRUE(view.contiguous());
  view.shape = {2, 4};
  EXPECT_FALSE(view.contiguous());
  view.shape = {0, 4};
  EXPECT_TRUE(view.contiguous());
}

TEST(Tensors, AreZeroedAndEmptyOnesAreDefined) {
  const Tensor t({2, 3}, DType::f64);
  for (const double v : t.values<double>()) EXPECT_EQ(v, 0.0);
  t.view().at<double>({1, 2}) = 4.0;
  EXPECT_EQ(t.values<double>()[5], 4.0);
  EXPECT_TRUE(Tensor({0, 3}, DType::f32).defined());
  EXPECT_FALSE(Tensor().defined());
}

TEST(Tensors, ToF64ReadsLogicalCellsOfPaddedAndPermutedViews) {
  std::vector<float> memory(20);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  const Tensor padded = to_f64({memory.data(), DType::f32, {2, 3}, {7, 1}});
  EXPECT_EQ(padded.values<double>()[3], 7.0);
  EXPECT_EQ(padded.values<double>()[5], 9.0);
  const Tensor permuted = to_f64({memory.data(), DType::f32, {3, 2}, {1, 7}});
  EXPECT_EQ(permuted.values<double>()[1], 7.0);
  EXPECT_EQ(to_f64({memory.data() + 4, DType::f32, {}, {}}).values<double>()[0], 4.0);
  EXPECT_EQ(to_f64({memory.data(), DType::f32, {4, 0}, {1, 1}}).size(), 0);
}

}  // namespace
}  // namespace assay
