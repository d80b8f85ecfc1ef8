#include "conformance/slots/moe_values.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "harness/case/generate.hpp"
#include "harness/tensor/nvfp4.hpp"

namespace assay {
namespace {

const SlotSpec& slot() { return *find_slot("moe.fused_experts"); }

Case case_of(std::map<std::string, std::int64_t> dims, std::map<std::string, std::string> knobs,
             const std::string& recipe = "normal", std::uint64_t seed = 5) {
  return pinned_case(slot(), {.dims = std::move(dims), .knobs = std::move(knobs), .recipe = recipe}, DType::f32, seed);
}
Case nvfp4_case(std::int64_t experts, std::int64_t hidden, std::int64_t inter, const std::string& recipe = "normal") {
  return case_of({{"tokens", 9}, {"experts", experts}, {"hidden", hidden}, {"inter", inter}, {"top_k", 3}},
                 {{"profile", "m3_nvfp4"}}, recipe);
}

Tensor filled(const Case& c, const std::string& name) {
  for (const ArgumentSpec* a : slot().tensors(c)) {
    if (a->name != name) continue;
    Tensor t(slot().shape(*a, c), slot().dtype(*a, c));
    if (!a->fill || !a->fill(c, base_key(c, name), t.view()))
      fill_tensor(t.view(), {.dtype = t.view().dtype, .key = base_key(c, name)});
    return t;
  }
  throw std::out_of_range(name);
}

// Element (row, col) of an expert's matrix as the spec dequantises it.
struct Dequantised {
  Tensor codes, scales, alphas, inverse;
  nvfp4::ScaleGrid grid;

  Dequantised(const Case& c, const std::string& matrix)
      : codes(filled(c, matrix + "_weight")),
        scales(filled(c, matrix + "_weight_scale")),
        alphas(filled(c, matrix == "w13" ? "g1_alphas" : "g2_alphas")),
        inverse(filled(c, matrix + "_input_scale_quant")),
        grid{codes.view().shape[1], codes.view().shape[2] / nvfp4::group_bytes} {}
  [[nodiscard]] const std::uint8_t* row(std::int64_t e, std::int64_t r) const {
    return static_cast<const std::uint8_t*>(codes.view().data) + (e * grid.rows + r) * codes.view().shape[2];
  }
  [[nodiscard]] std::uint8_t scale(std::int64_t e, std::int64_t r, std::int64_t g) const {
    return static_cast<const std::uint8_t*>(scales.view().data)[e * grid.bytes() + grid.offset(r, g)];
  }
  [[nodiscard]] double outer(std::int64_t e) const {
    return static_cast<double>(alphas.view().at<float>({e})) * inverse.view().at<float>({e});
  }
  [[nodiscard]] double at(std::int64_t e, std::int64_t r, std::int64_t k) const {
    return static_cast<double>(nvfp4::decode_e2m1(nvfp4::nibble(row(e, r), k))) *
           nvfp4::decode_e4m3(scale(e, r, k / nvfp4::group_size)) * outer(e);
  }
};

TEST(MoeWeights, Nvfp4ValuesFollowTheQuantisedNormalDistribution) {
  const Case c = nvfp4_case(4, 256, 128);
  for (const char* matrix : {"w13", "w2"}) {
    const Dequantised w(c, matrix);
    const std::int64_t cols = w.grid.cols * nvfp4::group_size;
    double sum = 0, squares = 0, fourth = 0;
    std::int64_t count = 0, largest = 0;
    for (std::int64_t e = 0; e < 4; ++e)
      for (std::int64_t r = 0; r < w.grid.rows; ++r)
        for (std::int64_t k = 0; k < cols; ++k, ++count) {
          const double v = w.at(e, r, k);
          sum += v;
          squares += v * v;
          fourth += v * v * v * v;
          largest += (nvfp4::nibble(w.row(e, r), k) & 7U) == 7U;
        }
    const auto n = static_cast<double>(count);
    const double due = std::string(matrix) == "w13" ? 1 / (1.1547 * 16) : 1 / std::sqrt(128.0);
    EXPECT_NEAR(sum / n, 0, due * 0.02) << matrix;
    EXPECT_NEAR(std::sqrt(squares / n), due, due * 0.05) << matrix;
    EXPECT_NEAR(fourth / n / std::pow(squares / n, 2), 2.7, 0.4) << matrix << ": base values are a little less than 3";
    EXPECT_GE(largest, count / 16) << "every group reaches the largest code";
  }
}

TEST(MoeWeights, BlockScalesNeitherSaturateNorVanishAndPaddingIsZero) {
  for (const char* recipe : {"normal", "activation", "expert_scales"})
    for (const std::int64_t hidden : {64, 176, 512}) {
      const Case c = nvfp4_case(5, hidden, 80, recipe);
      for (const char* matrix : {"w13", "w2"}) {
        const Dequantised w(c, matrix);
        std::int64_t used = 0, zero = 0, all = 0;
        for (std::int64_t e = 0; e < 5; ++e)
          for (std::int64_t r = 0; r < w.grid.rows; ++r)
            for (std::int64_t g = 0; g < w.grid.cols; ++g, ++used) {
              EXPECT_LT(w.scale(e, r, g), 0x7e) << recipe << " " << matrix;
              zero += w.scale(e, r, g) == 0;
            }
        EXPECT_EQ(zero, 0) << recipe << " " << matrix << " " << hidden;
        for (const std::uint8_t byte : w.scales.values<std::uint8_t>()) all += byte != 0;
        EXPECT_EQ(all, used - zero) << "a byte of the padding";
      }
    }
}

TEST(MoeWeights, OuterScalesAndActivationScalesDifferByExpert) {
  const Case c = nvfp4_case(64, 64, 64);
  for (const char* matrix : {"w13", "w2"}) {
    const Dequantised w(c, matrix);
    std::set<double> outers, inverses;
    for (std::int64_t e = 0; e < 64; ++e) {
      outers.insert(w.outer(e));
      inverses.insert(w.inverse.view().at<float>({e}));
      EXPECT_TRUE(w.outer(e) >= 0x1p-9 * 0.999 && w.outer(e) <= 0x1p-7 * 1.001) << e;
    }
    EXPECT_GT(outers.size(), 60U);
    EXPECT_EQ(inverses.size(), 2U);
    EXPECT_EQ(*inverses.begin() * 2, *inverses.rbegin());
  }
}

// What the probe is for: pre-activations on clamps and curvature, and the same energy from every group of channels.
TEST(MoeWeights, TheActivationProbePutsChannelsWhereTheSpecSays) {
  for (const char* profile : {"m3_dense", "m3_nvfp4"}) {
    const Case c = case_of({{"tokens", 2}, {"experts", 3}, {"hidden", 64}, {"inter", 64}, {"top_k", 1}},
                           {{"profile", profile}}, "activation");
    const bool quantised = moe::is_nvfp4(c);
    const Tensor x = filled(c, "x");
    for (std::int64_t k = 0; k < 16; ++k) EXPECT_EQ(x.view().at<float>({1, k}), k == 0 ? 1.0F : 0.0F);
    std::set<double> gates, ups;
    const Tensor dense = quantised ? Tensor() : filled(c, "w13");
    const auto first = [&](std::int64_t e, std::int64_t r) {
      return quantised ? Dequantised(c, "w13").at(e, r, 0) : dense.view().at<float>({e, r, 0});
    };
    for (std::int64_t i = 0; i < 64; ++i) {
      gates.insert(std::round(first(1, i) * 2) / 2);
      ups.insert(std::round(first(1, 64 + i) * 2) / 2);
    }
    if (!quantised) {
      EXPECT_EQ(gates, (std::set<double>{-1.5, 1, 20, 5}));
      EXPECT_EQ(ups, (std::set<double>{-18, -5, 0.5, 5, 18}));
    } else {
      EXPECT_TRUE(*gates.begin() < -1.2 && *gates.rbegin() > 18) << *gates.rbegin();
      EXPECT_TRUE(*ups.begin() < -16 && *ups.rbegin() > 16);
    }
  }
}

TEST(MoeRouting, IdsAreExpertsDistinctWhereAskedForAndASharedExpertIsLast) {
  for (const char* profile : {"generic", "m3_nvfp4"})
    for (const char* routing : {"random", "skew_one", "spread", "holes"})
      for (const char* shared : {"no", "yes"})
        for (const std::int64_t experts : {2, 3, 8, 33}) {
          const Case c = case_of({{"tokens", 40}, {"experts", experts}, {"hidden", 16}, {"inter", 16}, {"top_k", 4}},
                                 {{"profile", profile}, {"routing", routing}, {"shared", shared}});
          const Tensor ids = filled(c, "topk_ids"), weights = filled(c, "topk_weights");
          const std::int64_t places = c["top_k"];
          std::set<std::int32_t> all;
          for (std::int64_t m = 0; m < 40; ++m) {
            std::set<std::int32_t> row;
            double sum = 0;
            for (std::int64_t k = 0; k < places; ++k) {
              const std::int32_t id = ids.view().at<std::int32_t>({m, k});
              EXPECT_TRUE(id >= 0 && id < experts) << describe(c);
              EXPECT_GT(weights.view().at<float>({m, k}), 0.0F);
              row.insert(id);
              sum += static_cast<double>(weights.view().at<float>({m, k}));
            }
            all.insert(row.begin(), row.end());
            EXPECT_TRUE(!moe::is_nvfp4(c) || static_cast<std::int64_t>(row.size()) == places) << describe(c);
            if (moe::has_shared(c)) {
              EXPECT_EQ(ids.view().at<std::int32_t>({m, places - 1}), experts - 1);
              EXPECT_EQ(weights.view().at<float>({m, places - 1}), 1.0F);
            }
            EXPECT_NE(sum, 1.0);
          }
          EXPECT_TRUE(std::string(routing) != "skew_one" || moe::is_nvfp4(c) || all.size() == 1) << describe(c);
          const bool spared = !all.count(0) && !all.count(2) && !all.count(3);
          EXPECT_TRUE(std::string(routing) != "holes" || experts < 33 || spared) << describe(c);
        }
}

TEST(MoeRouting, ReorderingMovesExpertsWithTheirWeights) {
  const Case c = case_of({{"tokens", 6}, {"experts", 9}, {"hidden", 16}, {"inter", 16}, {"top_k", 4}}, {});
  const Tensor ids = filled(c, "topk_ids"), weights = filled(c, "topk_weights");
  const auto pairs = [&] {
    std::vector<std::multiset<std::pair<std::int32_t, float>>> rows(6);
    for (std::int64_t m = 0; m < 6; ++m)
      for (std::int64_t k = 0; k < 4; ++k)
        rows[static_cast<std::size_t>(m)].emplace(ids.view().at<std::int32_t>({m, k}),
                                                  weights.view().at<float>({m, k}));
    return rows;
  };
  const auto before = pairs();
  const float first = weights.view().at<float>({0, 0});
  std::map<std::string, TensorView> inputs = {{"topk_ids", ids.view()}, {"topk_weights", weights.view()}};
  ASSERT_TRUE(moe::reorder_places(c, 1, inputs));
  EXPECT_EQ(pairs(), before);
  EXPECT_NE(weights.view().at<float>({0, 0}), first);
}

TEST(MoeWeights, ExpertsWithoutTokensAreExcludedAndNoOthers) {
  const Case c = case_of({{"tokens", 3}, {"experts", 6}, {"hidden", 4}, {"inter", 2}, {"top_k", 1}}, {});
  Tensor ids({3, 1}, DType::i32), w13 = filled(c, "w13");
  ids.values<std::int32_t>()[0] = 4;
  ids.values<std::int32_t>()[1] = 1;
  ids.values<std::int32_t>()[2] = 4;
  ReferenceCall call;
  call.inputs = {{"topk_ids", ids.view()}, {"w13", w13.view()}};
  const auto ranges = moe::unchosen_experts("w13")(c, call);
  EXPECT_EQ(ranges, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 16}, {32, 48}, {48, 64}, {80, 96}}));
}

TEST(MoeWeights, SpeedOfALargeLayerIsRecorded) {
  const Case c = nvfp4_case(8, 2048, 768);
  for (const char* name : {"w13_weight", "w2_weight", "w13_weight_scale", "w2_weight_scale"}) {
    const auto start = std::chrono::steady_clock::now();
    const Tensor t = filled(c, name);
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    RecordProperty(std::string(name) + "_mb_per_s", static_cast<int>(static_cast<double>(t.size()) / s / 1e6));
    if (std::getenv("ASSAY_PRINT_COST") != nullptr)
      std::printf("%s: %.2f MB, %.2f GB/s\n", name, static_cast<double>(t.size()) / 1e6,
                  static_cast<double>(t.size()) / s / 1e9);
  }
}

}  // namespace
}  // namespace assay
