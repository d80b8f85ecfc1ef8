// A second form of every reference: plain loops in long double that share no code with the first.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <vector>

#include "harness/tensor/fill.hpp"
#include "harness/tensor/layout.hpp"
#include "reference/rmsnorm.hpp"
#include "reference/silu_and_mul.hpp"

namespace assay {
namespace {

// A strided host tensor with NaN in its padding, which a reference must never read.
struct Strided {
  std::vector<std::uint64_t> memory;
  TensorView view;

  Strided(Extents shape, DType dtype, std::int64_t padding) {
    const Extents strides = padded_strides(shape, padding);
    const auto span = static_cast<std::size_t>(span_of(shape, strides));
    memory.assign(span * size_of(dtype) / 8 + 1, ~0ULL);
    view = {memory.data(), dtype, std::move(shape), strides};
  }
  [[nodiscard]] long double at(std::int64_t row, std::int64_t col) const {
    std::int64_t rest = row, offset = col * view.strides.back();
    for (std::size_t d = view.shape.size() - 1; d-- > 0; rest /= view.shape[d])
      offset += rest % view.shape[d] * view.strides[d];
    return static_cast<long double>(value_at(view.data, view.dtype, offset));
  }
  void set(std::int64_t col, double value) const { store_value(view.data, view.dtype, col, value); }
};

struct Shape {
  Extents extents;
  std::int64_t padding;
};

std::vector<Shape> shapes() {
  std::vector<Shape> result = {{{64}, 0}, {{1, 2}, 0}, {{2, 3, 10}, 8}, {{7, 258}, 3}, {{0, 6}, 0}, {{3, 1, 4}, 1}};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const PhiloxBlock draw = philox({{0, 0, 0, 0}}, derive_key(seed, "shape"));
    Extents extents = {1 + draw.word[0] % 9, 2 * (1 + draw.word[1] % 300)};
    if (draw.word[2] % 3 == 0) extents.insert(extents.begin(), 1 + draw.word[3] % 4);
    result.push_back({extents, draw.word[2] / 8 % 9});
  }
  return result;
}

constexpr DType run_dtypes[] = {DType::f32, DType::f16, DType::bf16};

void expect_close(const Tensor& actual, std::int64_t cell, long double expected, const char* what) {
  const auto a = static_cast<long double>(actual.values<double>()[static_cast<std::size_t>(cell)]);
  ASSERT_LE(std::fabs(a - expected), 1e-14L * std::fabs(expected) + 1e-300L) << what << " cell " << cell;
}

Expected silu(const TensorView& x) {
  ReferenceResult result;
  assay_reference_silu_and_mul({{{"x", x}}, {}, {}}, result);
  return result.outputs.at(0);
}

Expected rmsnorm(const TensorView& x, const TensorView& weight, double eps) {
  ReferenceResult result;
  assay_reference_rmsnorm({{{"x", x}, {"weight", weight}}, {{"eps", eps}}, {}}, result);
  return result.outputs.at(0);
}

TEST(SiluAndMulReference, AgreesWithTheNaiveForm) {
  for (const Recipe recipe : all_recipes())
    for (const DType dtype : run_dtypes)
      for (const Shape& shape : shapes()) {
        const Strided x(shape.extents, dtype, shape.padding);
        fill_tensor(x.view, {recipe, dtype, derive_key(1, "x"), 1.0, 0});
        const Expected e = silu(x.view);
        const std::int64_t d = shape.extents.back() / 2;
        Extents due = shape.extents;
        due.back() = d;
        ASSERT_EQ(e.expected.view().shape, due);
        for (std::int64_t i = 0; i < e.expected.size(); ++i) {
          const long double gate = x.at(i / d, i % d), up = x.at(i / d, d + i % d);
          const long double expected = gate / (1 + std::exp(-gate)) * up;
          expect_close(e.expected, i, expected, "silu_and_mul");
          expect_close(e.magnitude, i, std::fabs(expected), "magnitude");
        }
      }
}

TEST(SiluAndMulReference, ExtremeGatesGiveTheirLimitsAndNeverNan) {
  const double inf = std::numeric_limits<double>::infinity();
  const Strided x({1, 14}, DType::f32, 0);
  const double gates[] = {-1e4, -inf, 0.0, -0.0, 1e4, -88.0, inf};
  for (std::int64_t i = 0; i < 7; ++i) {
    x.set(i, gates[i]);
    x.set(7 + i, 0.5);
  }
  const Expected e = silu(x.view);
  const auto out = e.expected.values<double>();
  for (const std::size_t zero : {0U, 1U, 3U}) {
    EXPECT_EQ(out[zero], 0.0);
    EXPECT_TRUE(std::signbit(out[zero])) << zero;
  }
  EXPECT_FALSE(std::signbit(out[2]));
  EXPECT_EQ(out[4], 5000.0);
  EXPECT_NEAR(out[5] / (-44.0 * std::exp(-88.0)), 1.0, 1e-14);
  EXPECT_EQ(out[6], inf);
}

TEST(SiluAndMulReference, OddOrAbsentLastExtentsAreRefused) {
  EXPECT_THROW((void)silu(Strided({2, 3}, DType::f32, 0).view), std::invalid_argument);
  EXPECT_THROW((void)silu(Tensor({}, DType::f32).view()), std::invalid_argument);
}

TEST(RmsnormReference, AgreesWithTheNaiveForm) {
  for (const Recipe recipe : all_recipes())
    for (const DType dtype : run_dtypes)
      for (const Shape& shape : shapes()) {
        const std::int64_t h = shape.extents.back();
        const double eps = h % 4 == 0 ? 0.25 : 1e-6;
        const Strided x(shape.extents, dtype, shape.padding), weight({h}, dtype, 0);
        fill_tensor(x.view, {recipe, dtype, derive_key(2, "x"), 1.0, 0});
        fill_tensor(weight.view, {Recipe::normal, dtype, derive_key(2, "weight"), 1.0, 0});
        const Expected e = rmsnorm(x.view, weight.view, eps);
        ASSERT_EQ(e.expected.view().shape, shape.extents);
        for (std::int64_t row = 0; row < e.expected.size() / h; ++row) {
          long double squares = 0;
          for (std::int64_t c = 0; c < h; ++c) squares += x.at(row, c) * x.at(row, c);
          const long double scale =
              1 / std::sqrt(squares / static_cast<long double>(h) + static_cast<long double>(eps));
          for (std::int64_t c = 0; c < h; ++c) {
            const long double expected = x.at(row, c) * scale * weight.at(0, c);
            expect_close(e.expected, row * h + c, expected, "rmsnorm");
            expect_close(e.magnitude, row * h + c, std::fabs(expected), "magnitude");
          }
        }
      }
}

TEST(RmsnormReference, ZeroRowsGiveZerosAndLargeRowsDoNotOverflow) {
  const Strided x({2, 8}, DType::f32, 0), weight({8}, DType::f32, 0);
  for (std::int64_t c = 0; c < 8; ++c) {
    x.set(c, 0.0);
    x.set(8 + c, 3e38);
    weight.set(c, 2.0);
  }
  const Expected e = rmsnorm(x.view, weight.view, 1e-6);
  for (std::size_t c = 0; c < 8; ++c) {
    EXPECT_EQ(e.expected.values<double>()[c], 0.0);
    EXPECT_NEAR(e.expected.values<double>()[8 + c], 2.0, 1e-14);
  }
}

// FAULT-004's row: one spike of 100 among zeros, eps beside a mean of 1.22, scaled once and not by the maximum.
TEST(RmsnormReference, ClosedFormOfASpikeHolds) {
  const Strided x({1, 8192}, DType::f32, 0), weight({8192}, DType::f32, 0);
  for (std::int64_t c = 0; c < 8192; ++c) {
    x.set(c, c == 77 ? 100.0 : 0.0);
    weight.set(c, 1.0);
  }
  const Expected e = rmsnorm(x.view, weight.view, 1e-5);
  EXPECT_NEAR(e.expected.values<double>()[77], 100.0 / std::sqrt(10000.0 / 8192 + 1e-5), 1e-11);
}

TEST(RmsnormReference, AWeightOfAnotherLengthOrAMissingScalarIsRefused) {
  const Strided x({2, 8}, DType::f32, 0), weight({7}, DType::f32, 0), right({8}, DType::f32, 0);
  EXPECT_THROW((void)rmsnorm(x.view, weight.view, 1e-6), std::invalid_argument);
  ReferenceResult result;
  EXPECT_THROW(assay_reference_rmsnorm({{{"x", x.view}, {"weight", right.view}}, {}, {}}, result), std::out_of_range);
}

TEST(References, ResultsOutliveTheirInputsAndEmptyOnesAreDefined) {
  Expected e;
  {
    const Strided x({2, 4}, DType::f32, 0);
    fill_tensor(x.view, {.recipe = Recipe::constant});
    e = silu(x.view);
  }
  EXPECT_NEAR(e.expected.values<double>()[3], 1 / (1 + std::exp(-1.0)), 1e-15);
  const Expected empty = silu(Strided({0, 4}, DType::f32, 0).view);
  EXPECT_TRUE(empty.expected.defined());
  EXPECT_EQ(empty.expected.view().shape, (Extents{0, 2}));
}

TEST(References, InputsAreNotWritten) {
  const Strided x({3, 6}, DType::f64, 2), weight({6}, DType::f64, 0);
  fill_tensor(x.view, {.recipe = Recipe::normal});
  fill_tensor(weight.view, {.recipe = Recipe::normal});
  const std::vector<std::uint64_t> before = x.memory, weights = weight.memory;
  (void)silu(x.view);
  (void)rmsnorm(x.view, weight.view, 1e-6);
  EXPECT_EQ(x.memory, before);  // float64 inputs: no conversion stands between an in-place step and the caller
  EXPECT_EQ(weight.memory, weights);
}

TEST(References, CostOfASmallCallIsRecorded) {
  const Strided x({1, 64}, DType::bf16, 0), weight({64}, DType::bf16, 0);
  fill_tensor(x.view, {});
  fill_tensor(weight.view, {});
  const auto microseconds = [&](auto&& f) {
    for (int i = 0; i < 100; ++i) f();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i) f();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 1000;
  };
  const double s = microseconds([&] { (void)silu(x.view); });
  const double r = microseconds([&] { (void)rmsnorm(x.view, weight.view, 1e-6); });
  RecordProperty("silu_and_mul_ns", static_cast<int>(s * 1000));
  RecordProperty("rmsnorm_ns", static_cast<int>(r * 1000));
  if (std::getenv("ASSAY_PRINT_COST") != nullptr) std::printf("silu_and_mul %.1f us, rmsnorm %.1f us\n", s, r);
}

}  // namespace
}  // namespace assay
