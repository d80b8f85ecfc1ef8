// The second form of collective.all_reduce: plain loops in long double, rank by rank.
#include "reference/all_reduce.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "harness/tensor/fill.hpp"

namespace assay {
namespace {

TEST(AllReduceReference, AgreesWithTheNaiveForm) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const std::size_t world : {1u, 2u, 3u, 4u, 8u})
      for (const Recipe recipe : {Recipe::normal, Recipe::tag, Recipe::negative_zero, Recipe::denormal}) {
        std::vector<Tensor> x;
        ReferenceCall call;
        for (std::size_t r = 0; r < world; ++r) {
          x.emplace_back(Extents{5, 37}, dtype);
          fill_tensor(x.back().view(), {.recipe = recipe, .dtype = dtype, .key = derive_key(9, "x", r)});
          call.ranks.push_back({{"x", x.back().view()}});
        }
        call.inputs = call.ranks.front();
        ReferenceResult result;
        assay_reference_all_reduce(call, result);
        ASSERT_EQ(result.outputs.size(), 1u);
        ASSERT_EQ(result.outputs[0].expected.view().shape, (Extents{5, 37}));
        for (std::int64_t i = 0; i < 5 * 37; ++i) {
          long double sum = 0, magnitude = 0;
          for (const Tensor& t : x) {
            const long double value = value_at(t.view().data, dtype, i);
            sum += value;
            magnitude += std::fabs(value);
          }
          const auto at = static_cast<std::size_t>(i);
          ASSERT_LE(std::fabs(result.outputs[0].expected.values<double>()[at] - sum), 1e-15L * magnitude);
          ASSERT_LE(std::fabs(result.outputs[0].magnitude.values<double>()[at] - magnitude), 1e-15L * magnitude);
        }
      }
}

TEST(AllReduceReference, WithoutRanksItIsRefused) {
  ReferenceResult result;
  EXPECT_THROW(assay_reference_all_reduce({}, result), std::invalid_argument);
}

}  // namespace
}  // namespace assay
