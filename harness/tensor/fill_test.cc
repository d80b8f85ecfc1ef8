#include "harness/tensor/fill.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/tensor/layout.hpp"

namespace assay {
namespace {

std::uint64_t hex(const std::string& text) { return std::stoull(text, nullptr, 16); }

const nlohmann::json& golden() {
  static const nlohmann::json file = [] {
    const auto path = std::filesystem::path(__FILE__).parent_path() / "../../fixtures/golden_values.json";
    std::ifstream stream(path);
    if (!stream) throw std::runtime_error("cannot read " + path.string());
    return nlohmann::json::parse(stream);
  }();
  return file;
}

std::uint64_t stored_bits(const Tensor& t, std::int64_t i) {
  const auto k = static_cast<std::size_t>(i);
  return t.view().dtype == DType::f32 ? half::bits_of(t.values<float>()[k]) : t.values<std::uint16_t>()[k];
}

TEST(Philox, MatchesThePublishedVectors) {
  for (const auto& row : golden()["philox"]) {
    PhiloxBlock counter{};
    for (std::size_t i = 0; i < 4; ++i) counter.word[i] = static_cast<std::uint32_t>(hex(row["counter"][i]));
    const PhiloxBlock block = philox(counter, hex(row["key"]));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(block.word[i], hex(row["words"][i]));
  }
  EXPECT_EQ(philox({{0, 0, 0, 0}}, 0).word[0], 0x6627e8d5U);  // Random123's kat_vectors, typed in by hand
  EXPECT_EQ(philox({{0, 0, 0, 0}}, 0).word[3], 0x9b00dbd8U);
}

TEST(DeriveKey, MatchesTheGoldenKeysAndSeparatesOrdinals) {
  for (const auto& row : golden()["derive_key"]) {
    const auto number = [&](const char* name) { return std::stoull(row[name].get<std::string>()); };
    EXPECT_EQ(derive_key(number("seed"), row["purpose"].get<std::string>(), number("a"), number("b")), hex(row["key"]));
  }
  std::set<std::uint64_t> keys;
  for (std::uint64_t a = 0; a < 40; ++a)
    for (std::uint64_t b = 0; b < 40; ++b) keys.insert(derive_key(3, "x", a, b));
  EXPECT_EQ(keys.size(), 1600U);  // rank 1 of replay 0 is not rank 0 of replay 1
}

TEST(Fill, StoresExactlyTheGoldenBitsOfEveryRecipeAndDtype) {
  std::set<std::string> seen;
  for (const auto& row : golden()["fill"]) {
    FillPlan plan;
    plan.recipe = recipe_from(row["recipe"].get<std::string>());
    plan.dtype = dtype_from(row["dtype"].get<std::string>());
    plan.key = hex(row["key"]);
    plan.scale = row["scale"];
    plan.parameter = row["parameter"];
    const Tensor tensor({row["rows"], row["cols"]}, plan.dtype);
    fill_tensor(tensor.view(), plan);
    std::istringstream bits(row["bits"].get<std::string>());
    std::string word;
    for (std::int64_t i = 0; bits >> word; ++i)
      ASSERT_EQ(stored_bits(tensor, i), hex(word)) << row["recipe"] << " " << row["dtype"] << " cell " << i;
    seen.insert(row["recipe"].get<std::string>());
  }
  for (const Recipe recipe : all_recipes()) EXPECT_TRUE(seen.count(std::string(name_of(recipe)))) << name_of(recipe);
}

TEST(Fill, ATensorIsItsCellsWhateverItsStridesAndRank) {
  for (const Recipe recipe : all_recipes()) {
    for (const Extents& shape : {Extents{3, 2051}, Extents{2, 3, 5}, Extents{9}, Extents{}, Extents{4, 1}}) {
      const FillPlan plan{recipe, DType::f32, derive_key(9, "cells"), 1.0, 0};
      const Extents strides = padded_strides(shape, 3);
      std::vector<float> memory(static_cast<std::size_t>(span_of(shape, strides)), -77.0F);
      const TensorView view{memory.data(), DType::f32, shape, strides};
      fill_tensor(view, plan);
      const Tensor values = to_f64(view);
      const std::int64_t cols = shape.empty() ? 1 : shape.back();
      const std::int64_t rows = element_count(shape) / cols;
      for (std::int64_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(values.values<double>()[static_cast<std::size_t>(i)],
                  static_cast<double>(fill_value(plan, i / cols, i % cols, rows, cols)));
    }
  }
}

TEST(Fill, NothingButCellsIsWritten) {
  std::vector<float> memory(2 * 9, -77.0F);
  fill_tensor({memory.data(), DType::f32, {2, 5}, {9, 1}}, {.recipe = Recipe::constant});
  for (std::size_t i = 0; i < memory.size(); ++i) EXPECT_EQ(memory[i], i % 9 < 5 ? 1.0F : -77.0F);
}

TEST(Fill, NoRecipeGivesNanOrInfinityInAnyDtype) {
  for (const Recipe recipe : all_recipes())
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const Tensor t({16, 130}, dtype);
      fill_tensor(t.view(), {recipe, dtype, derive_key(1, "finite"), 1.0, 0});
      const Tensor values = to_f64(t.view());
      for (const double v : values.values<double>()) ASSERT_TRUE(std::isfinite(v)) << name_of(recipe);
    }
}

TEST(Recipes, NamesReadBackAndUnknownOnesAreRefused) {
  for (const Recipe recipe : all_recipes()) EXPECT_EQ(recipe_from(name_of(recipe)), recipe);
  EXPECT_EQ(all_recipes().size(), 16U);
  EXPECT_THROW((void)recipe_from("random"), std::invalid_argument);
}

TEST(Recipes, NormalHasMeanZeroAndDeviationOneFifteen) {
  const FillPlan plan{.key = derive_key(0, "moments")};
  double sum = 0, squares = 0;
  constexpr std::int64_t n = 400'000;
  for (std::int64_t i = 0; i < n; ++i) {
    const double v = fill_value(plan, i / 1000, i % 1000, 400, 1000);
    sum += v;
    squares += v * v;
  }
  EXPECT_NEAR(sum / n, 0.0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / n), 1.155, 0.01);
}

// A kernel that reads a neighbour's row or column, or the other half of a power-of-two row, reads another value.
TEST(Recipes, TagsOfNeighboursDifferAndAreExactInEveryFormat) {
  const FillPlan plan{.recipe = Recipe::tag, .key = derive_key(0, "tag")};
  const auto at = [&](std::int64_t r, std::int64_t c) { return fill_value(plan, r, c, 512, 4096); };
  for (std::int64_t r = 0; r < 300; ++r)
    for (std::int64_t c = 0; c < 300; ++c) {
      const float v = at(r, c);
      ASSERT_NE(v, 0.0F);
      ASSERT_LE(std::fabs(v), 15.75F);
      ASSERT_EQ(from_f16(to_f16(v)), v);
      ASSERT_EQ(from_bf16(to_bf16(v)), v);
      ASSERT_NE(v, at(r + 1, c));
      ASSERT_NE(v, at(r, c + 1));
      ASSERT_NE(v, at(r + 1, c + 1));
      for (std::int64_t d = 2; d <= 2048; d *= 2) {
        ASSERT_NE(v, at(r, c + d));
        ASSERT_NE(v, at(r + d, c));
      }
    }
  FillPlan other = plan;
  other.parameter = 1;
  EXPECT_NE(fill_value(other, 0, 0, 1, 1), at(0, 0));
}

TEST(Recipes, SpikeHasOneLargeElementARow) {
  const FillPlan plan{.recipe = Recipe::spike, .key = derive_key(0, "spike")};
  std::set<std::int64_t> columns;
  for (std::int64_t r = 0; r < 40; ++r) {
    int large = 0;
    for (std::int64_t c = 0; c < 777; ++c) {
      const float v = std::fabs(fill_value(plan, r, c, 40, 777));
      if (v == 100.0F) {
        ++large;
        columns.insert(c);
      } else {
        ASSERT_LE(v, 0x1p-6F);
      }
    }
    ASSERT_EQ(large, 1);
  }
  EXPECT_GT(columns.size(), 20U);
}

TEST(Recipes, ZeroRowsExistAreNotAllAndMayIncludeTheFirst) {
  int first = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    for (const std::int64_t rows : {2, 9}) {
      const FillPlan plan{.recipe = Recipe::zero_row, .key = derive_key(seed, "rows")};
      std::int64_t zeros = 0;
      for (std::int64_t r = 0; r < rows; ++r) {
        bool zero = true;
        for (std::int64_t c = 0; c < 50; ++c) zero = zero && fill_value(plan, r, c, rows, 50) == 0.0F;
        zeros += zero;
        first += zero && r == 0 ? 1 : 0;
      }
      ASSERT_GE(zeros, 1);
      ASSERT_LT(zeros, rows);
    }
  EXPECT_GT(first, 40);
}

TEST(Recipes, DenormalLiesOnBothSidesOfTheLeastNormal) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const double least = dtype == DType::f16 ? 0x1p-14 : 0x1p-126;
    const Tensor t({4, 100}, dtype);
    fill_tensor(t.view(), {.recipe = Recipe::denormal, .dtype = dtype, .key = 5});
    int below = 0, above = 0;
    const Tensor values = to_f64(t.view());
    for (const double v : values.values<double>()) {
      below += v != 0 && std::fabs(v) < least;
      above += std::fabs(v) >= least;
      ASSERT_LT(std::fabs(v), 32 * least);
    }
    EXPECT_GT(below, 50);
    EXPECT_GT(above, 50);
  }
}

TEST(Recipes, CancellationSumsToItsSmallResidues) {
  const FillPlan plan{.recipe = Recipe::cancellation, .key = 3};
  double sum = 0, magnitude = 0;
  for (std::int64_t c = 0; c < 1000; ++c) {
    sum += fill_value(plan, 0, c, 1, 1000);
    magnitude += std::fabs(fill_value(plan, 0, c, 1, 1000));
  }
  EXPECT_LT(std::fabs(sum), magnitude / 400);
  EXPECT_GT(magnitude, 60'000);
}

TEST(Recipes, SortedRisesInEvenRowsAndFallsInOddOnes) {
  const FillPlan plan{.recipe = Recipe::sorted};
  for (std::int64_t c = 1; c < 64; ++c) {
    EXPECT_LT(fill_value(plan, 0, c - 1, 2, 64), fill_value(plan, 0, c, 2, 64));
    EXPECT_GT(fill_value(plan, 1, c - 1, 2, 64), fill_value(plan, 1, c, 2, 64));
  }
  EXPECT_EQ(fill_value(plan, 0, 0, 2, 64), -510 / 128.0F);
}

TEST(Recipes, ClusteredMaximaAreContiguousAndExceedTheRest) {
  const FillPlan plan{.recipe = Recipe::clustered, .key = 3};
  for (std::int64_t r = 0; r < 20; ++r) {
    std::int64_t first = -1, last = -1, count = 0;
    for (std::int64_t c = 0; c < 160; ++c)
      if (fill_value(plan, r, c, 20, 160) >= 8.0F) {
        if (first < 0) first = c;
        last = c;
        ++count;
      }
    EXPECT_EQ(count, 20);
    EXPECT_EQ(last - first + 1, 20);
  }
}

TEST(Recipes, GateExtremesMeetSmallPartners) {
  const FillPlan plan{.recipe = Recipe::gate_extreme, .key = 11};
  std::map<float, int> seen;
  constexpr std::int64_t d = 1001;
  int extremes = 0, negative_zeros = 0;
  for (std::int64_t r = 0; r < 4; ++r)
    for (std::int64_t c = 0; c < d; ++c) {
      const float gate = fill_value(plan, r, c, 4, 2 * d);
      const bool extreme = std::fabs(gate) > 4.0F || std::fabs(gate) == 1e-4F;
      if (extreme || gate == 0.0F) ++seen[gate];
      negative_zeros += gate == 0.0F && std::signbit(gate);
      if (!extreme) continue;
      ++extremes;
      EXPECT_LE(std::fabs(fill_value(plan, r, c + d, 4, 2 * d)), 1.0F);
    }
  EXPECT_EQ(seen.size(), 9U);  // the two zeros are one key
  EXPECT_GT(negative_zeros, 50);
  EXPECT_NEAR(extremes, 4 * 1001 / 4 * 0.8, 120);
}

TEST(Recipes, RowScaleGrowsByFourARowAndStartsAgainAfterSeven) {
  const FillPlan plan{.recipe = Recipe::row_scale, .key = 11};
  const FillPlan plain{.key = 11};
  for (std::int64_t r = 0; r < 15; ++r)
    EXPECT_EQ(fill_value(plan, r, 3, 15, 8), fill_value(plain, r, 3, 15, 8) * std::pow(4.0F, r % 7));
}

TEST(Recipes, TiesAndNegativeZerosHaveTheirKinds) {
  std::set<float> ties;
  int negative = 0, positive = 0;
  for (std::int64_t c = 0; c < 400; ++c) {
    ties.insert(fill_value({.recipe = Recipe::ties}, 0, c, 1, 400));
    const float v = fill_value({.recipe = Recipe::negative_zero}, 0, c, 1, 400);
    if (v == 0.0F) ++(std::signbit(v) ? negative : positive);
  }
  EXPECT_EQ(ties, (std::set<float>{-1.0F, 0.0F, 0.5F, 1.0F}));
  EXPECT_NEAR(negative, 100, 40);
  EXPECT_NEAR(positive, 100, 40);
}

TEST(Fill, RefusesScalesAndDevicesThatItCannotServe) {
  const Tensor t({2}, DType::f32);
  EXPECT_THROW(fill_tensor(t.view(), {.scale = 0.0}), std::invalid_argument);
  EXPECT_THROW(fill_tensor(t.view(), {.scale = std::nan("")}), std::invalid_argument);
  TensorView far = t.view();
  far.device = DeviceType::cuda;
  EXPECT_THROW(fill_tensor(far, {}), std::invalid_argument);
}

TEST(Fill, CostOfAValueIsPrinted) {
  const Tensor t({256, 4096}, DType::bf16);
  for (const Recipe recipe : all_recipes()) {
    const auto start = std::chrono::steady_clock::now();
    fill_tensor(t.view(), {.recipe = recipe, .dtype = DType::bf16, .key = 1});
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    RecordProperty(std::string(name_of(recipe)), static_cast<int>(took.count() * 1000 / static_cast<double>(t.size())));
    if (std::getenv("ASSAY_PRINT_COST") != nullptr)
      std::printf("%-14s %.2f ns a value\n", std::string(name_of(recipe)).c_str(), took.count() / double(t.size()));
  }
}

}  // namespace
}  // namespace assay
