#include "harness/compare/output.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/compare/chosen_test.hpp"

namespace assay {
namespace {

Tensor filled(DType dtype, double value) {
  Tensor t({4, 8}, dtype);
  for (std::int64_t i = 0; i < t.size(); ++i) store_value(t.view().data, dtype, i, value);
  return t;
}

TEST(Output, IndicesAreGradedThroughTheirSelection) {
  Chosen c = chosen_indices(2, 16, 32, 4);
  Comparison grade = compare_output(c.mode, DType::f32, c.actual.view(), c.expected);
  EXPECT_TRUE(grade.passed) << grade.reason;
  EXPECT_EQ(grade.score, 1.0);
  for (std::int64_t r = 0; r < c.rows(); ++r) c.leave_out(r, c.best[static_cast<std::size_t>(r)][1]);
  grade = compare_output(c.mode, DType::f32, c.actual.view(), c.expected);
  EXPECT_FALSE(grade.passed);
  EXPECT_EQ(grade.score, 0.75);
  EXPECT_EQ(grade.fault, CaseFault::none);
}

TEST(Output, IndicesWithoutASelectionAreTheReferencesFault) {
  Chosen c = chosen_indices(2, 16, 32, 4);
  c.expected.selection = nullptr;
  EXPECT_THROW((void)compare_output(c.mode, DType::f32, c.actual.view(), c.expected), std::invalid_argument);
  EXPECT_THROW((void)null_check_output(c.mode, DType::f32, c.expected), std::invalid_argument);
}

TEST(Output, SheetsAndFloatsAreComparedByValue) {
  Chosen c = chosen_scores(16, 32, 4);
  EXPECT_TRUE(compare_output(c.mode, DType::f32, c.actual.view(), c.expected).passed);
  c.actual.view().at<float>({3, 31}) = 100;  // an invisible block ranks in
  EXPECT_LT(compare_output(c.mode, DType::f32, c.actual.view(), c.expected).score, 1.0);
  // fp32 outputs of an fp16 run have fp16's tolerance.
  const Expected e{filled(DType::f64, 1.0), filled(DType::f64, 1.0)};
  const Tensor near = filled(DType::f32, 1.0 + 1e-3);
  EXPECT_TRUE(compare_output({}, DType::f16, near.view(), e).passed);
  EXPECT_FALSE(compare_output({}, DType::f32, near.view(), e).passed);
}

TEST(Output, WhatDoingNothingScoresDecidesWhetherACaseProves) {
  const Chosen many = chosen_indices(2, 16, 32, 4), all = chosen_indices(2, 16, 4, 4);
  EXPECT_TRUE(null_check_output(many.mode, DType::f32, many.expected).informative);
  EXPECT_FALSE(null_check_output(all.mode, DType::f32, all.expected).informative) << "every block is chosen anyway";
  const Chosen sheet = chosen_scores(16, 32, 4), narrow = chosen_scores(16, 4, 4);
  EXPECT_TRUE(null_check_output(sheet.mode, DType::f32, sheet.expected).informative);
  EXPECT_FALSE(null_check_output(narrow.mode, DType::f32, narrow.expected).informative);
  const Expected ones{filled(DType::f64, 1.0), filled(DType::f64, 1.0)}, zeros{filled(DType::f64, 0), {}};
  EXPECT_TRUE(null_check_output({}, DType::bf16, ones).informative);
  EXPECT_FALSE(null_check_output({}, DType::bf16, zeros).informative);
}

TEST(Output, OnlyTheTopKModesGradeChoices) {
  static_assert(grades_selections(Mode::topk_indices) && grades_selections(Mode::topk_scores));
  static_assert(!grades_selections(Mode::allclose) && !grades_selections(Mode::matched_ratio) &&
                !grades_selections(Mode::cosine));
  SUCCEED();
}

}  // namespace
}  // namespace assay
