#include "harness/compare/bound.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "harness/tensor/fill.hpp"

namespace assay {
namespace {

Tensor filled(Extents shape, DType dtype, double value) {
  Tensor t(std::move(shape), dtype);
  for (std::int64_t i = 0; i < t.size(); ++i) store_value(t.view().data, dtype, i, value);
  return t;
}

TEST(Bound, ConstantsAreTheSpecifiedOnes) {
  EXPECT_EQ(unit_roundoff(DType::bf16), std::ldexp(1.0, -8));
  EXPECT_EQ(unit_roundoff(DType::f16), std::ldexp(1.0, -11));
  EXPECT_EQ(unit_roundoff(DType::f32), std::ldexp(1.0, -24));
  EXPECT_EQ(underflow_bound(DType::f16), std::ldexp(1.0, -25));
  EXPECT_EQ(underflow_bound(DType::bf16), std::ldexp(1.0, -126));
  EXPECT_EQ(bound_of({DType::f16, 8}, -2.0, 3.0), 1.05 * (0x1p-10 + 0x1p-25 + 24 * 0x1p-23));
}

// Every correctly rounded output passes with no accumulation at all, in every dtype, subnormals included.
TEST(Bound, CorrectRoundingAlwaysPasses) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const double scale : {1.0, 0.01, 1e-5}) {
      const Tensor e({64, 64}, DType::f64), a({64, 64}, dtype), zero({64, 64}, DType::f64);
      fill_tensor(e.view(), {.key = 7});
      for (std::int64_t i = 0; i < e.size(); ++i) {
        double& value = e.values<double>()[static_cast<std::size_t>(i)];
        value *= scale / 3.0;
        store_value(a.view().data, dtype, i, value);
      }
      const Comparison c = compare_bound({dtype, 0}, a.view(), e.view(), zero.view());
      EXPECT_TRUE(c.passed) << name_of(dtype) << " " << scale << ": " << c.reason;
    }
}

TEST(Bound, FlushedSubnormalsPassWhereFlushingIsAllowed) {
  const Tensor e = filled({4}, DType::f64, 0x1p-130), zero = filled({4}, DType::f64, 0.0);
  EXPECT_TRUE(compare_bound({DType::f32, 0}, filled({4}, DType::f32, 0.0).view(), e.view(), zero.view()).passed);
  const Tensor half = filled({4}, DType::f64, 0x1p-20);
  EXPECT_FALSE(compare_bound({DType::f16, 0}, filled({4}, DType::f16, 0.0).view(), half.view(), zero.view()).passed);
}

// A sum of 4096 ones in fp16 sticks at 2048; in the slot's tolerance for a share of cells, but not in this bound.
TEST(Bound, SixteenBitAccumulationIsFound) {
  const Tensor e = filled({8}, DType::f64, 1.0), m = filled({8}, DType::f64, 1.0);
  const Tensor rounded_often = filled({8}, DType::f16, 1.0 + 5 * 0x1p-10);
  EXPECT_TRUE(compare({}, tolerance_for(DType::f16), rounded_often.view(), e.view()).passed);
  const Comparison c = compare_bound({DType::f16, 136}, rounded_often.view(), e.view(), m.view());
  EXPECT_FALSE(c.passed);
  EXPECT_EQ(c.score, 0.0);
  EXPECT_EQ(c.pattern, "all 8 cells");
}

TEST(Bound, CancellationIsAllowedItsMagnitude) {
  const Tensor e = filled({4}, DType::f64, 1e-3), a = filled({4}, DType::f32, 1.05e-3);
  EXPECT_FALSE(compare_bound({DType::f32, 100}, a.view(), e.view(), filled({4}, DType::f64, 1e-3).view()).passed);
  EXPECT_TRUE(compare_bound({DType::f32, 100}, a.view(), e.view(), filled({4}, DType::f64, 10.0).view()).passed);
}

TEST(Bound, NanFailsAndInvisibleScoresAreNotGraded) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor zero({2}, DType::f64), e({2}, DType::f64), a({2}, DType::f32);
  e.values<double>()[0] = -inf;
  a.values<float>()[0] = -3.0F;
  EXPECT_TRUE(compare_bound({DType::f32, 0}, a.view(), e.view(), zero.view()).passed);
  a.values<float>()[1] = std::numeric_limits<float>::quiet_NaN();
  const Comparison c = compare_bound({DType::f32, 0}, a.view(), e.view(), zero.view());
  EXPECT_FALSE(c.passed);
  EXPECT_EQ(c.max_abs, inf);
  e.values<double>()[0] = std::nan("");
  EXPECT_EQ(compare_bound({DType::f32, 0}, a.view(), e.view(), zero.view()).fault, CaseFault::expected_not_finite);
  EXPECT_FALSE(compare_bound({DType::f32, 0}, Tensor({3}, DType::f32).view(), e.view(), zero.view()).passed);
}

}  // namespace
}  // namespace assay
