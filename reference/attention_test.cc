// A second form of the attention references: plain loops in long double that share no code with the first.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

#include "harness/tensor/fill.hpp"
#include "reference/attention_decode.hpp"
#include "reference/attention_sdpa.hpp"

namespace assay {
namespace {

constexpr DType run_dtypes[] = {DType::f32, DType::f16, DType::bf16};
const double nan_value = std::numeric_limits<double>::quiet_NaN();

Tensor filled(Extents shape, DType dtype, std::uint64_t key, Recipe recipe = Recipe::normal) {
  Tensor t(std::move(shape), dtype);
  fill_tensor(t.view(), {.recipe = recipe, .dtype = dtype, .key = key});
  return t;
}
long double at(const Tensor& t, std::int64_t i, std::int64_t j, std::int64_t k) {
  return value_at(t.view().data, t.view().dtype, t.view().offset({i, j, k}));
}
void set_row(const Tensor& t, std::int64_t i, std::int64_t j, double value) {
  for (std::int64_t k = 0; k < t.view().shape[2]; ++k)
    store_value(t.view().data, t.view().dtype, t.view().offset({i, j, k}), value);
}

struct Key {
  std::int64_t slot, kv_head;
};

// One output row against the keys that it attends, by definition: all logits, their maximum, then the sums.
void expect_row(const Expected& e, const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t row,
                std::int64_t head, const std::vector<Key>& keys, long double scale) {
  const std::int64_t d = q.view().shape[2];
  std::vector<long double> weights;
  for (const Key& key : keys) {
    long double sum = 0;
    for (std::int64_t c = 0; c < d; ++c) sum += at(q, row, head, c) * at(k, key.slot, key.kv_head, c);
    weights.push_back(scale * sum);
  }
  long double maximum = -std::numeric_limits<long double>::infinity(), total = 0;
  for (const long double w : weights) maximum = std::max(maximum, w);
  for (long double& w : weights) total += w = std::exp(w - maximum);
  for (std::int64_t c = 0; c < d; ++c) {
    long double expected = 0, magnitude = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const long double term = weights[i] / total * at(v, keys[i].slot, keys[i].kv_head, c);
      expected += term;
      magnitude += std::fabs(term);
    }
    // Logits of 100 are known to 1e-14 in float64, and so are the weights.
    ASSERT_NEAR(static_cast<double>(at(e.expected, row, head, c) - expected), 0,
                static_cast<double>(1e-12L * magnitude))
        << row << "," << head << "," << c;
    ASSERT_NEAR(static_cast<double>(at(e.magnitude, row, head, c) - magnitude), 0,
                static_cast<double>(1e-12L * magnitude));
  }
}

Expected sdpa(const Tensor& q, const Tensor& k, const Tensor& v, double scale, bool causal) {
  ReferenceResult result;
  assay_reference_attention_sdpa(
      {{{"q", q.view()}, {"k", k.view()}, {"v", v.view()}}, {{"sm_scale", scale}, {"causal", causal ? 1.0 : 0.0}}, {}},
      result);
  return result.outputs.at(0);
}

struct Dense {
  std::int64_t rows, keys, kv_heads, group, d;
};

TEST(SdpaReference, AgreesWithTheNaiveForm) {
  const Dense shapes[] = {{1, 1, 1, 1, 8},  {3, 3, 2, 1, 9}, {5, 9, 2, 3, 16}, {7, 5, 2, 2, 8},   {4, 1, 1, 2, 8},
                          {1, 17, 3, 1, 8}, {6, 0, 2, 2, 8}, {0, 4, 1, 1, 8},  {33, 33, 1, 4, 24}};
  for (const Dense& s : shapes)
    for (const DType dtype : run_dtypes)
      for (const Recipe recipe : {Recipe::normal, Recipe::tag, Recipe::zero_row, Recipe::ties})
        for (const bool causal : {true, false}) {
          const Tensor q = filled({s.rows, s.kv_heads * s.group, s.d}, dtype, 1, recipe);
          const Tensor k = filled({s.keys, s.kv_heads, s.d}, dtype, 2, recipe);
          const Tensor v = filled({s.keys, s.kv_heads, s.d}, dtype, 3, recipe);
          const Expected e = sdpa(q, k, v, 0.3, causal);
          ASSERT_EQ(e.expected.view().shape, q.view().shape);
          for (std::int64_t t = 0; t < s.rows; ++t)
            for (std::int64_t h = 0; h < s.kv_heads * s.group; ++h) {
              std::vector<Key> keys;
              for (std::int64_t key = 0; key < s.keys; ++key)
                if (!causal || key <= t + s.keys - s.rows) keys.push_back({key, h / s.group});
              expect_row(e, q, k, v, t, h, keys, 0.3L);
            }
        }
}

TEST(SdpaReference, RowsWithoutAKeyAreZeroAndOthersAreNot) {
  const Tensor q = filled({7, 2, 8}, DType::bf16, 1), k = filled({5, 1, 8}, DType::bf16, 2),
               v = filled({5, 1, 8}, DType::bf16, 3);
  const auto out = [&](bool causal) { return sdpa(q, k, v, 1.0, causal).expected; };
  const Tensor causal = out(true), open = out(false);
  for (std::int64_t t = 0; t < 7; ++t) {
    EXPECT_EQ(at(causal, t, 1, 3) == 0, t < 2) << t;
    EXPECT_NE(at(open, t, 1, 3), 0) << t;
  }
}

TEST(SdpaReference, LargeLogitsGiveOneKeyAndNoNan) {
  const Tensor q = filled({2, 1, 8}, DType::f32, 0, Recipe::zeros), k = filled({3, 1, 8}, DType::f32, 0, Recipe::zeros),
               v = filled({3, 1, 8}, DType::f32, 4);
  store_value(q.view().data, DType::f32, q.view().offset({1, 0, 5}), 1e4);
  store_value(k.view().data, DType::f32, k.view().offset({1, 0, 5}), 1e4);
  const Tensor out = sdpa(q, k, v, 1.0, false).expected;
  EXPECT_EQ(at(out, 1, 0, 2), at(v, 1, 0, 2));
}

TEST(SdpaReference, ShapesThatDoNotFitAreRefused) {
  const auto refused = [](Extents q, Extents k, Extents v) {
    EXPECT_THROW((void)sdpa(Tensor(std::move(q), DType::f32), Tensor(std::move(k), DType::f32),
                            Tensor(std::move(v), DType::f32), 1.0, true),
                 std::invalid_argument);
  };
  refused({2, 3, 8}, {4, 2, 8}, {4, 2, 8});
  refused({2, 2, 8}, {4, 2, 9}, {4, 2, 9});
  refused({2, 2, 8}, {4, 2, 8}, {3, 2, 8});
  refused({2, 2, 8}, {4, 0, 8}, {4, 0, 8});
}

struct Paged {
  Tensor q, k, v, table, lengths, rows, selected;
  std::int64_t block_size;

  [[nodiscard]] std::int64_t batch() const { return q.view().shape[0]; }
  [[nodiscard]] std::int64_t kv_heads() const { return k.view().shape[1]; }
  [[nodiscard]] std::int64_t group() const { return q.view().shape[1] / kv_heads(); }
  [[nodiscard]] Expected run() const {
    ReferenceResult result;
    assay_reference_attention_decode({{{"q", q.view()},
                                       {"k_cache", k.view()},
                                       {"v_cache", v.view()},
                                       {"req_to_token", table.view()},
                                       {"seq_lens", lengths.view()},
                                       {"req_pool_indices", rows.view()},
                                       {"topk_idx", selected.view()}},
                                      {{"sm_scale", 0.25}, {"block_size", static_cast<double>(block_size)}},
                                      {}},
                                     result);
    return result.outputs.at(0);
  }
  // The definition: every position below the length whose block is listed.
  [[nodiscard]] std::vector<Key> attended(std::int64_t b, std::int64_t j) const {
    std::set<std::int64_t> blocks;
    for (std::int64_t i = 0; i < selected.view().shape[2]; ++i)
      blocks.insert(selected.view().at<std::int32_t>({j, b, i}));
    std::vector<Key> keys;
    for (std::int64_t p = 0; p < lengths.view().at<std::int32_t>({b}); ++p)
      if (blocks.count(p / block_size) != 0)
        keys.push_back({table.view().at<std::int32_t>({rows.view().at<std::int32_t>({b}), p}), j});
    return keys;
  }
};

Paged paged(DType dtype, std::uint64_t seed) {
  std::uint64_t draw = seed;
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int32_t>((draw = mix64(draw + 1)) % static_cast<std::uint64_t>(n));
  };
  const std::int64_t batch = below(5), kv_heads = 1 + below(3), group = 1 + below(3), d = 8 + below(20),
                     capacity = 1 + below(40), block = 1 + below(9), width = 1 + below(6), slots = 1 + below(60),
                     pool = 1 + below(6);
  Paged p = {filled({batch, kv_heads * group, d}, dtype, seed + 1),
             filled({slots, kv_heads, d}, dtype, seed + 2),
             filled({slots, kv_heads, d}, dtype, seed + 3),
             Tensor({pool, capacity}, DType::i32),
             Tensor({batch}, DType::i32),
             Tensor({batch}, DType::i32),
             Tensor({kv_heads, batch, width}, DType::i32),
             block};
  for (std::int32_t& slot : p.table.values<std::int32_t>()) slot = below(slots);
  for (std::int32_t& length : p.lengths.values<std::int32_t>()) length = below(capacity + 1);
  for (std::int32_t& row : p.rows.values<std::int32_t>()) row = below(pool);
  const std::int64_t blocks = (capacity + block - 1) / block;
  for (std::int64_t list = 0; list < kv_heads * batch; ++list) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::max(blocks, width)));
    std::iota(ids.begin(), ids.end(), 0);
    for (std::size_t i = ids.size(); i > 1; --i)
      std::swap(ids[i - 1], ids[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int32_t id = ids[static_cast<std::size_t>(i)];
      p.selected.values<std::int32_t>()[static_cast<std::size_t>(list * width + i)] =
          id < blocks && below(4) != 0 ? id : -1 - below(3);
    }
  }
  return p;
}

TEST(DecodeReference, AgreesWithTheNaiveForm) {
  std::int64_t rows = 0, empty = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Paged p = paged(run_dtypes[seed % 3], derive_key(seed, "paged"));
    const Expected e = p.run();
    ASSERT_EQ(e.expected.view().shape, p.q.view().shape);
    for (std::int64_t b = 0; b < p.batch(); ++b)
      for (std::int64_t h = 0; h < p.kv_heads() * p.group(); ++h) {
        const std::vector<Key> keys = p.attended(b, h / p.group());
        ++rows;
        empty += keys.empty();
        expect_row(e, p.q, p.k, p.v, b, h, keys, 0.25L);
      }
  }
  EXPECT_GT(empty, rows / 50);
  EXPECT_LT(empty, rows / 2);
}

TEST(DecodeReference, WhatNobodyAttendsIsNotRead) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Paged p = paged(DType::f32, derive_key(seed, "unread"));
    const Expected before = p.run();
    std::set<std::pair<std::int64_t, std::int64_t>> read;
    for (std::int64_t b = 0; b < p.batch(); ++b)
      for (std::int64_t j = 0; j < p.kv_heads(); ++j)
        for (const Key& key : p.attended(b, j)) read.insert({key.slot, j});
    for (std::int64_t slot = 0; slot < p.k.view().shape[0]; ++slot)
      for (std::int64_t j = 0; j < p.kv_heads(); ++j) {
        if (read.count({slot, j}) != 0) continue;
        set_row(p.k, slot, j, nan_value);
        set_row(p.v, slot, j, nan_value);
      }
    const Expected after = p.run();
    for (std::int64_t i = 0; i < before.expected.size(); ++i)
      ASSERT_EQ(before.expected.values<double>()[static_cast<std::size_t>(i)],
                after.expected.values<double>()[static_cast<std::size_t>(i)]);
  }
}

// More than is gathered at once: 9 requests of 4096 positions and 128 columns are two parts.
TEST(DecodeReference, LargeBatchesAreTakenInParts) {
  const std::int64_t batch = 9, capacity = 4096, d = 128;
  Paged p = {filled({batch, 1, d}, DType::bf16, 1),
             filled({capacity, 1, d}, DType::bf16, 2),
             filled({capacity, 1, d}, DType::bf16, 3),
             Tensor({1, capacity}, DType::i32),
             Tensor({batch}, DType::i32),
             Tensor({batch}, DType::i32),
             Tensor({1, batch, 1}, DType::i32),
             capacity};
  std::iota(p.table.values<std::int32_t>().begin(), p.table.values<std::int32_t>().end(), 0);
  for (std::int64_t b = 0; b < batch; ++b)
    p.lengths.values<std::int32_t>()[static_cast<std::size_t>(b)] = static_cast<std::int32_t>(capacity - b * 37);
  const Expected e = p.run();
  for (std::int64_t b = 0; b < batch; ++b) expect_row(e, p.q, p.k, p.v, b, 0, p.attended(b, 0), 0.25L);
}

TEST(DecodeReference, MetadataOutsideTheirRangesAreRefused) {
  const auto broken = [](auto&& change) {
    Paged p = {filled({1, 2, 8}, DType::f32, 1), filled({4, 1, 8}, DType::f32, 2),
               filled({4, 1, 8}, DType::f32, 3), Tensor({2, 4}, DType::i32),
               Tensor({1}, DType::i32),          Tensor({1}, DType::i32),
               Tensor({1, 1, 1}, DType::i32),    2};
    p.lengths.values<std::int32_t>()[0] = 2;
    change(p);
    return p;
  };
  EXPECT_NO_THROW((void)broken([](Paged&) {}).run());
  EXPECT_THROW((void)broken([](Paged& p) { p.lengths.values<std::int32_t>()[0] = 5; }).run(), std::invalid_argument);
  EXPECT_THROW((void)broken([](Paged& p) { p.rows.values<std::int32_t>()[0] = 2; }).run(), std::invalid_argument);
  EXPECT_THROW((void)broken([](Paged& p) { p.table.values<std::int32_t>()[1] = 4; }).run(), std::invalid_argument);
  EXPECT_THROW((void)broken([](Paged& p) { p.selected = Tensor({2, 1, 1}, DType::i32); }).run(), std::invalid_argument);
  EXPECT_THROW((void)broken([](Paged& p) { p.lengths = Tensor({1}, DType::i64); }).run(), std::invalid_argument);
  EXPECT_THROW((void)broken([](Paged& p) { p.block_size = 0; }).run(), std::invalid_argument);
}

TEST(AttentionReferences, CostOfASmallCallIsRecorded) {
  const Tensor q = filled({4, 4, 32}, DType::bf16, 1), k = filled({8, 2, 32}, DType::bf16, 2);
  Paged p = {q,
             k,
             k,
             Tensor({4, 8}, DType::i32),
             Tensor({4}, DType::i32),
             Tensor({4}, DType::i32),
             Tensor({2, 4, 2}, DType::i32),
             4};
  for (std::int32_t& length : p.lengths.values<std::int32_t>()) length = 7;
  const auto microseconds = [&](auto&& f) {
    for (int i = 0; i < 20; ++i) f();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i) f();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 200;
  };
  const double dense = microseconds([&] { (void)sdpa(q, k, k, 1.0, true); }),
               paged = microseconds([&] { (void)p.run(); });
  RecordProperty("attention_sdpa_ns", static_cast<int>(dense * 1000));
  RecordProperty("attention_decode_ns", static_cast<int>(paged * 1000));
  if (std::getenv("ASSAY_PRINT_COST") != nullptr) std::printf("sdpa %.1f us, decode %.1f us\n", dense, paged);
}

}  // namespace
}  // namespace assay
