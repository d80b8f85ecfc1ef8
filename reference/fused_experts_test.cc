// The second form of the expert reference: plain loops in long double, scale tables by hand, the swizzle by its axes.
#include "reference/fused_experts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/tensor/fill.hpp"

namespace assay {
namespace {

struct Sizes {
  std::int64_t tokens, experts, hidden, inter, places;
};

// Inputs of one call. NVFP4 bytes are any bytes, scales any finite E4M3; everything else is drawn.
struct Inputs {
  Sizes n;
  std::string profile;
  std::map<std::string, Tensor> tensors;

  Inputs(const Sizes& sizes, std::string with_profile, DType dtype, std::uint64_t seed)
      : n(sizes), profile(std::move(with_profile)) {
    add("x", {n.tokens, n.hidden}, dtype, seed, 1.0);
    add("topk_weights", {n.tokens, n.places}, DType::f32, seed, 1.0);
    Tensor ids({n.tokens, n.places}, DType::i32);
    std::uint64_t draw = seed;
    for (std::int32_t& id : ids.values<std::int32_t>())
      id = static_cast<std::int32_t>((draw = mix64(draw + 7)) % static_cast<std::uint64_t>(n.experts));
    tensors["topk_ids"] = std::move(ids);
    if (profile != "m3_nvfp4") {
      add("w13", {n.experts, 2 * n.inter, n.hidden}, dtype, seed, 0.5);
      add("w2", {n.experts, n.hidden, n.inter}, dtype, seed, 0.5);
      return;
    }
    const auto up = [](std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; };
    bytes("w13_weight", {n.experts, 2 * n.inter, n.hidden / 2}, seed + 1, 255);
    bytes("w2_weight", {n.experts, n.hidden, n.inter / 2}, seed + 2, 255);
    bytes("w13_weight_scale", {n.experts, up(2 * n.inter, 128), up(n.hidden / 16, 4)}, seed + 3, 0x4f);
    bytes("w2_weight_scale", {n.experts, up(n.hidden, 128), up(n.inter / 16, 4)}, seed + 4, 0x4f);
    for (const char* name : {"g1_alphas", "g2_alphas", "w13_input_scale_quant", "w2_input_scale_quant"})
      add(name, {n.experts}, DType::f32, seed, 0.25);
  }
  void add(const std::string& name, Extents shape, DType dtype, std::uint64_t seed, double scale) {
    Tensor t(std::move(shape), dtype);
    fill_tensor(t.view(), {.dtype = dtype, .key = derive_key(seed, name), .scale = scale});
    tensors[name] = std::move(t);
  }
  void bytes(const std::string& name, Extents shape, std::uint64_t seed, std::uint8_t mask) {
    Tensor t(std::move(shape), DType::u8);
    for (std::uint8_t& byte : t.values<std::uint8_t>())
      byte = static_cast<std::uint8_t>((seed = mix64(seed + 11)) >> 13) & mask;
    tensors[name] = std::move(t);
  }
  [[nodiscard]] Expected run() const {
    ReferenceCall call;
    for (const auto& [name, t] : tensors) call.inputs[name] = t.view();
    call.knobs["profile"] = profile;
    ReferenceResult result;
    assay_reference_fused_experts(call, result);
    return result.outputs.at(0);
  }
  [[nodiscard]] long double get(const std::string& name, std::int64_t index) const {
    const TensorView& v = tensors.at(name).view();
    return static_cast<long double>(value_at(v.data, v.dtype, index));
  }
  // Element (row, col) of an expert's matrix; `first` is w13.
  [[nodiscard]] long double weight(bool first, std::int64_t e, std::int64_t row, std::int64_t col) const {
    const std::int64_t rows = first ? 2 * n.inter : n.hidden, cols = first ? n.hidden : n.inter;
    const std::string name = first ? "w13" : "w2";
    if (profile != "m3_nvfp4") return get(name, (e * rows + row) * cols + col);
    static const long double grid[] = {0, 0.5L, 1, 1.5L, 2, 3, 4, 6};
    const auto byte = static_cast<unsigned>(get(name + "_weight", ((e * rows + row) * cols + col) / 2));
    const unsigned code = col % 2 == 0 ? byte % 16 : byte / 16;
    // Stored as (rows/128, cols/4, 32, 4, 4): tile row, tile column, row mod 32, row div 32, column.
    const TensorView& scales = tensors.at(name + "_weight_scale").view();
    const std::int64_t group = col / 16, tile = row / 128 * (scales.shape[2] / 4) + group / 4;
    const std::int64_t place = ((tile * 32 + row % 32) * 4 + row % 128 / 32) * 4 + group % 4;
    const auto scale =
        static_cast<unsigned>(get(name + "_weight_scale", e * scales.shape[1] * scales.shape[2] + place));
    const unsigned exponent = scale / 8 % 16, mantissa = scale % 8;
    const long double s = exponent == 0 ? std::ldexp(static_cast<long double>(mantissa), -9)
                                        : std::ldexp(8.0L + mantissa, static_cast<int>(exponent) - 10);
    const long double outer = get(first ? "g1_alphas" : "g2_alphas", e) * get(name + "_input_scale_quant", e);
    return (code >= 8 ? -grid[code - 8] : grid[code]) * s * outer;
  }
  // Both factors of the activation.
  [[nodiscard]] std::pair<long double, long double> act(long double gate, long double up) const {
    if (profile == "generic") return {gate / (1 + std::exp(-gate)), up};
    const long double g = gate > 7 ? 7 : gate, u = up > 7 ? 7 : up < -7 ? -7 : up;
    return {g / (1 + std::exp(-1.702L * g)), u + 1};
  }
};

void expect_naive(const Inputs& in) {
  const Sizes& n = in.n;
  const Expected e = in.run();
  ASSERT_EQ(e.expected.view().shape, (Extents{n.tokens, n.hidden}));
  ASSERT_EQ(e.magnitude.view().shape, (Extents{n.tokens, n.hidden}));
  for (std::int64_t m = 0; m < n.tokens; ++m) {
    std::vector<long double> sum(static_cast<std::size_t>(n.hidden)), magnitude(sum.size());
    for (std::int64_t k = 0; k < n.places; ++k) {
      const auto expert = static_cast<std::int64_t>(in.get("topk_ids", m * n.places + k));
      for (std::int64_t i = 0; i < n.inter; ++i) {
        long double gate = 0, up = 0, gate_terms = 0, up_terms = 0;
        for (std::int64_t h = 0; h < n.hidden; ++h) {
          const long double x = in.get("x", m * n.hidden + h);
          const long double g = in.weight(true, expert, i, h) * x, u = in.weight(true, expert, n.inter + i, h) * x;
          gate += g;
          up += u;
          gate_terms += std::fabs(g);
          up_terms += std::fabs(u);
        }
        const auto [g, u] = in.act(gate, up);
        const long double share = in.get("topk_weights", m * n.places + k);
        const bool single = in.tensors.at("x").view().dtype == DType::f32;
        const long double slack = single ? 1.1L * std::fabs(u) * gate_terms + std::fabs(g) * up_terms : 0;
        const long double size = std::fabs(g * u * share) + slack * std::fabs(share);
        for (std::int64_t h = 0; h < n.hidden; ++h) {
          const long double term = in.weight(false, expert, h, i) * g * u * share;
          sum[static_cast<std::size_t>(h)] += term;
          magnitude[static_cast<std::size_t>(h)] += std::fabs(in.weight(false, expert, h, i)) * size;
        }
      }
    }
    for (std::size_t h = 0; h < sum.size(); ++h) {
      const std::size_t cell = static_cast<std::size_t>(m * n.hidden) + h;
      const long double most = magnitude[h] * 1e-11L + 1e-290L;  // sums of first-layer terms cancel
      ASSERT_LE(std::fabs(e.expected.values<double>()[cell] - sum[h]), most) << in.profile << " row " << m << "," << h;
      ASSERT_LE(std::fabs(e.magnitude.values<double>()[cell] - magnitude[h]), most)
          << in.profile << " " << m << "," << h;
    }
  }
}

const char* const profiles[] = {"generic", "m3_dense", "m3_nvfp4"};

TEST(FusedExpertsReference, AgreesWithTheNaiveForm) {
  for (const char* profile : profiles)
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      const PhiloxBlock d = philox({{0, 0, 0, 0}}, derive_key(seed, profile));
      Sizes n{1 + d.word[0] % 13, 1 + d.word[1] % 9, 1 + d.word[2] % 40, 1 + d.word[3] % 24, 1 + d.word[0] / 64 % 5};
      if (std::string(profile) == "m3_nvfp4") n.hidden = 16 * (1 + n.hidden % 11), n.inter = 16 * (1 + n.inter % 5);
      const DType dtypes[] = {DType::f32, DType::f16, DType::bf16};
      expect_naive(Inputs(n, profile, dtypes[seed % 3], seed));
    }
}

// Rows of scales beyond one tile of 128, and experts after the first.
TEST(FusedExpertsReference, AgreesWithTheNaiveFormOnPaddedScales) {
  expect_naive(Inputs({4, 3, 176, 80, 1}, "m3_nvfp4", DType::f32, 5));
}

// One expert takes all rows, others one each: batches of several sizes.
TEST(FusedExpertsReference, AgreesWithTheNaiveFormOnSkewedRouting) {
  for (const std::int64_t crowd : {1, 7, 30}) {
    Inputs in({40, 12, 8, 4, 2}, "generic", DType::f32, 9);
    auto ids = in.tensors["topk_ids"].values<std::int32_t>();
    for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(crowd); ++i) ids[i] = 11;
    expect_naive(in);
  }
}

TEST(FusedExpertsReference, RowsAreGroupedByTheirFirstExpert) {
  const Inputs in({5, 4, 8, 4, 2}, "generic", DType::f32, 3);
  const Expected e = in.run();
  ASSERT_EQ(e.groups.size(), 1U);
  EXPECT_EQ(e.groups[0].name, "expert");
  EXPECT_EQ(e.groups[0].count, 4);
  ASSERT_EQ(e.groups[0].of_row.size(), 5U);
  for (std::int64_t m = 0; m < 5; ++m)
    EXPECT_EQ(e.groups[0].of_row[static_cast<std::size_t>(m)], static_cast<std::uint32_t>(in.get("topk_ids", 2 * m)));
}

TEST(FusedExpertsReference, WeightsOfExpertsWithoutTokensAreNotRead) {
  for (const char* profile : profiles) {
    Inputs in({6, 5, 32, 16, 2}, profile, DType::f32, 4);
    for (std::int32_t& id : in.tensors["topk_ids"].values<std::int32_t>()) id = id % 2 + 1;
    const Expected before = in.run();
    for (auto& [name, t] : in.tensors) {
      if (name[0] != 'w' && name[0] != 'g') continue;
      const std::size_t each = static_cast<std::size_t>(t.size()) * size_of(t.view().dtype) / 5;
      for (const std::size_t e : {0U, 3U, 4U})
        std::memset(static_cast<std::byte*>(t.view().data) + e * each, 0xFF, each);
    }
    const Expected after = in.run();
    const auto a = before.expected.values<double>(), b = after.expected.values<double>();
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << profile;
  }
}

TEST(FusedExpertsReference, NoTokensGiveAnEmptyResultAndBadInputsAreRefused) {
  const Expected e = Inputs({0, 4, 8, 4, 2}, "generic", DType::f32, 1).run();
  EXPECT_TRUE(e.expected.defined());
  EXPECT_EQ(e.expected.view().shape, (Extents{0, 8}));
  Inputs in({2, 4, 8, 4, 2}, "generic", DType::f32, 1);
  in.tensors["topk_ids"].values<std::int32_t>()[3] = 4;
  EXPECT_THROW((void)in.run(), std::invalid_argument);
  in.tensors["topk_ids"].values<std::int32_t>()[3] = -1;
  EXPECT_THROW((void)in.run(), std::invalid_argument);
}

TEST(FusedExpertsReference, CostOfASmallCallIsRecorded) {
  for (const Sizes& n : {Sizes{4, 8, 64, 32, 2}, Sizes{1, 1, 1, 1, 1}, Sizes{513, 160, 16, 16, 1}}) {
    const Inputs in(n, "generic", DType::bf16, 1);
    for (int i = 0; i < 20; ++i) (void)in.run();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) (void)in.run();
    const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 100;
    RecordProperty("fused_experts_" + std::to_string(n.experts) + "_us", static_cast<int>(us));
    if (std::getenv("ASSAY_PRINT_COST") != nullptr)
      std::printf("fused_experts of %lld tokens, %lld experts: %.0f us\n", static_cast<long long>(n.tokens),
                  static_cast<long long>(n.experts), us);
  }
}

}  // namespace
}  // namespace assay
