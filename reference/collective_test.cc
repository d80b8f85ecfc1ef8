// The second form of the references that end with a sum over ranks: plain loops in long double, rank by rank.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/tensor/fill.hpp"
#include "reference/ar_residual_rmsnorm.hpp"
#include "reference/fused_experts.hpp"
#include "reference/fused_experts_reduce.hpp"
#include "reference/moe_finalize_ar_rmsnorm.hpp"

namespace assay {
namespace {

using Real = long double;

struct Call {
  std::vector<Tensor> owned;
  ReferenceCall call;

  Tensor drawn(const std::string& name, Extents shape, DType dtype, std::uint64_t rank, Recipe recipe) {
    Tensor t(std::move(shape), dtype);
    fill_tensor(t.view(), {.recipe = recipe, .dtype = dtype, .key = derive_key(5, name, rank)});
    owned.push_back(t);
    return t;
  }
  void shared(const std::string& name, Extents shape, DType dtype, Recipe recipe = Recipe::normal) {
    call.inputs[name] = drawn(name, std::move(shape), dtype, 0, recipe).view();
  }
  void by_rank(const std::string& name, const Extents& shape, DType dtype, std::size_t world, Recipe recipe) {
    call.ranks.resize(world);
    for (std::size_t r = 0; r < world; ++r) call.ranks[r][name] = drawn(name, shape, dtype, r, recipe).view();
    call.inputs[name] = call.ranks[0][name];
  }
};

Real at(const TensorView& v, std::int64_t i) { return value_at(v.data, v.dtype, i); }

// Outputs from each cell's sum over ranks and the magnitude of its terms.
void expect_residual_norm(const ReferenceCall& call, const std::vector<Real>& sum, const std::vector<Real>& terms,
                          const ReferenceResult& result, const std::string& what) {
  const TensorView &residual = call.inputs.at("residual"), &weight = call.inputs.at("weight");
  const auto width = static_cast<std::size_t>(residual.shape[1]);
  ASSERT_EQ(result.outputs.size(), 2u);
  for (const Expected& e : result.outputs) ASSERT_EQ(e.expected.view().shape, residual.shape);
  for (std::size_t row = 0; row < sum.size() / width; ++row) {
    Real squares = 0;
    std::vector<Real> total(width), magnitude(width);
    for (std::size_t i = 0; i < width; ++i) {
      const Real addend = at(residual, static_cast<std::int64_t>(row * width + i));
      total[i] = sum[row * width + i] + addend;
      magnitude[i] = terms[row * width + i] + std::fabs(addend);
      squares += total[i] * total[i];
    }
    const Real scale = 1 / std::sqrt(squares / static_cast<Real>(width) + static_cast<Real>(call.scalars.at("eps")));
    for (std::size_t i = 0; i < width; ++i) {
      const Real w = at(weight, static_cast<std::int64_t>(i));
      const Real expected[] = {total[i] * scale * w, total[i]};
      const Real magnitudes[] = {magnitude[i] * scale * std::fabs(w), magnitude[i]};
      for (std::size_t o = 0; o < 2; ++o) {
        const double value = result.outputs[o].expected.values<double>()[row * width + i];
        const double bound = result.outputs[o].magnitude.values<double>()[row * width + i];
        ASSERT_LE(std::fabs(static_cast<Real>(value) - expected[o]), 1e-14L * magnitudes[o] + 1e-300L) << what;
        ASSERT_LE(std::fabs(static_cast<Real>(bound) - magnitudes[o]), 1e-14L * magnitudes[o] + 1e-300L) << what;
      }
    }
  }
}

TEST(ArResidualRmsnormReference, AgreesWithTheNaiveForm) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const std::size_t world : {1u, 2u, 3u, 8u})
      for (const Recipe recipe : {Recipe::normal, Recipe::tag, Recipe::negative_zero, Recipe::denormal})
        for (const Extents& shape : {Extents{5, 37}, Extents{1, 1}, Extents{2, 264}}) {
          Call c;
          c.by_rank("x", shape, dtype, world, recipe);
          c.shared("residual", shape, dtype, recipe);
          c.shared("weight", {shape[1]}, dtype);
          c.call.scalars["eps"] = 1e-6;
          ReferenceResult result;
          assay_reference_ar_residual_rmsnorm(c.call, result);
          std::vector<Real> sum(static_cast<std::size_t>(shape[0] * shape[1])), terms(sum.size());
          for (std::size_t i = 0; i < sum.size(); ++i)
            for (const auto& inputs : c.call.ranks) {
              const Real value = at(inputs.at("x"), static_cast<std::int64_t>(i));
              sum[i] += value;
              terms[i] += std::fabs(value);
            }
          expect_residual_norm(c.call, sum, terms, result, std::string(name_of(recipe)));
        }
}

struct Finalize : Call {
  std::int64_t tokens, all_tokens, places, hidden;
  std::vector<std::int32_t> map;

  Finalize(std::int64_t t, std::int64_t t_exp, std::int64_t k, std::int64_t h, DType dtype, std::size_t world)
      : tokens(t), all_tokens(t_exp), places(k), hidden(h), map(static_cast<std::size_t>(t_exp * k)) {
    by_rank("gemm_out", {t_exp * k, h}, dtype, world, Recipe::normal);
    shared("scales", {t_exp, k}, DType::f32);
    shared("residual", {t, h}, dtype);
    shared("weight", {h}, dtype);
    call.scalars["eps"] = 0.25;
    std::iota(map.begin(), map.end(), 0);
    for (std::size_t i = map.size(); i > 1; --i) std::swap(map[i - 1], map[mix64(i) % i]);
    call.inputs["row_map"] = {map.data(), DType::i32, {t_exp * k}, {1}};
  }
};

TEST(MoeFinalizeReference, AgreesWithTheNaiveForm) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const std::size_t world : {1u, 2u, 4u})
      for (const auto& [t, t_exp, k, h] : std::vector<std::array<std::int64_t, 4>>{
               {6, 9, 1, 31}, {5, 5, 8, 17}, {1, 8, 5, 64}, {1, 1, 1, 1}, {3, 4, 64, 5}}) {
        Finalize f(t, t_exp, k, h, dtype, world);
        ReferenceResult result;
        assay_reference_moe_finalize_ar_rmsnorm(f.call, result);
        std::vector<Real> sum(static_cast<std::size_t>(t * h)), terms(sum.size());
        for (std::int64_t token = 0; token < t; ++token)
          for (std::int64_t i = 0; i < h; ++i)
            for (std::int64_t place = 0; place < k; ++place)
              for (const auto& inputs : f.call.ranks) {
                const std::int64_t row = f.map[static_cast<std::size_t>(place * t_exp + token)];
                const Real value =
                    at(f.call.inputs.at("scales"), token * k + place) * at(inputs.at("gemm_out"), row * h + i);
                sum[static_cast<std::size_t>(token * h + i)] += value;
                terms[static_cast<std::size_t>(token * h + i)] += std::fabs(value);
              }
        expect_residual_norm(f.call, sum, terms, result, "K=" + std::to_string(k));
      }
}

TEST(MoeFinalizeReference, AMapThatLeavesTheRowsAndShapesThatDoNotFitAreRefused) {
  Finalize f(2, 3, 2, 4, DType::f32, 2);
  ReferenceResult result;
  f.map[1] = 6;
  EXPECT_THROW(assay_reference_moe_finalize_ar_rmsnorm(f.call, result), std::invalid_argument);
  f.map[1] = 0;
  f.call.inputs["row_map"].shape = {5};
  EXPECT_THROW(assay_reference_moe_finalize_ar_rmsnorm(f.call, result), std::invalid_argument);
}

// Sharding the intermediate channels over ranks changes nothing: the whole layer on one rank is the second form.
TEST(FusedExpertsReduceReference, ShardsOfALayerAddUpToTheLayer) {
  constexpr std::int64_t tokens = 5, experts = 3, hidden = 8, inter = 6, places = 2;
  for (const char* profile : {"generic", "m3_dense"})
    for (const std::int64_t world : {1, 2, 3, 6}) {
      Call whole;
      whole.call.knobs["profile"] = profile;
      whole.shared("x", {tokens, hidden}, DType::f32);
      whole.shared("topk_weights", {tokens, places}, DType::f32);
      whole.shared("w13", {experts, 2 * inter, hidden}, DType::f32);
      whole.shared("w2", {experts, hidden, inter}, DType::f32);
      Tensor ids({tokens, places}, DType::i32);
      for (std::size_t i = 0; i < tokens * places; ++i)
        ids.values<std::int32_t>()[i] = static_cast<std::int32_t>(mix64(i) % experts);
      whole.call.inputs["topk_ids"] = ids.view();
      ReferenceResult expected, actual;
      assay_reference_fused_experts(whole.call, expected);

      Call sharded = whole;
      const std::int64_t part = inter / world;
      for (std::int64_t r = 0; r < world; ++r) {
        Tensor w13({experts, 2 * part, hidden}, DType::f32), w2({experts, hidden, part}, DType::f32);
        const TensorView &all13 = whole.call.inputs.at("w13"), &all2 = whole.call.inputs.at("w2");
        for (std::int64_t e = 0; e < experts; ++e)
          for (std::int64_t i = 0; i < part; ++i)
            for (std::int64_t h = 0; h < hidden; ++h) {
              for (const std::int64_t half : {0, 1})
                w13.view().at<float>({e, half * part + i, h}) = all13.at<float>({e, half * inter + r * part + i, h});
              w2.view().at<float>({e, h, i}) = all2.at<float>({e, h, r * part + i});
            }
        sharded.owned.push_back(w13);
        sharded.owned.push_back(w2);
        sharded.call.ranks.push_back({{"w13", w13.view()}, {"w2", w2.view()}});
      }
      assay_reference_fused_experts_reduce(sharded.call, actual);
      ASSERT_EQ(actual.outputs.size(), 1u);
      EXPECT_EQ(actual.outputs[0].groups.size(), 1u);
      const auto values = [](const Tensor& t) { return t.values<double>(); };
      for (std::size_t i = 0; i < tokens * hidden; ++i) {
        const double magnitude = values(expected.outputs[0].magnitude)[i];
        EXPECT_NEAR(values(actual.outputs[0].expected)[i], values(expected.outputs[0].expected)[i], 1e-13 * magnitude);
        EXPECT_NEAR(values(actual.outputs[0].magnitude)[i], magnitude, 1e-13 * magnitude);
      }
    }
}

TEST(FusedExpertsReduceReference, WithoutRanksItIsRefused) {
  ReferenceResult result;
  EXPECT_THROW(assay_reference_fused_experts_reduce({}, result), std::invalid_argument);
}

}  // namespace
}  // namespace assay
