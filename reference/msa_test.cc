// A second form of the two block-score references: plain loops in long double that share no code with the first.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <set>
#include <stdexcept>
#include <vector>

#include "harness/compare/topk.hpp"
#include "harness/tensor/fill.hpp"
#include "reference/msa_block_score.hpp"
#include "reference/msa_prefill_block_score.hpp"

namespace assay {
namespace {

constexpr DType kRunTypes[] = {DType::f32, DType::f16, DType::bf16};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : key_(derive_key(seed, "msa")) {}
  std::int64_t from(std::int64_t least, std::int64_t most) {
    key_ = mix64(key_ + 0x9E3779B97F4A7C15ULL);
    return least + static_cast<std::int64_t>(key_ % static_cast<std::uint64_t>(most - least + 1));
  }

 private:
  std::uint64_t key_;
};

Tensor floats(Extents shape, DType dtype, Recipe recipe, std::uint64_t key) {
  Tensor tensor(std::move(shape), dtype);
  fill_tensor(tensor.view(), {.recipe = recipe, .dtype = dtype, .key = key});
  return tensor;
}

Tensor integers(const std::vector<std::int64_t>& values, Extents shape = {}) {
  if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
  Tensor tensor(std::move(shape), DType::i32);
  for (std::size_t i = 0; i < values.size(); ++i)
    tensor.values<std::int32_t>()[i] = static_cast<std::int32_t>(values[i]);
  return tensor;
}

long double cell(const Tensor& t, std::int64_t index) {
  return static_cast<long double>(value_at(t.view().data, t.view().dtype, index));
}

void spoil(const Tensor& t, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    store_value(t.view().data, t.view().dtype, first + i, std::numeric_limits<double>::quiet_NaN());
}

struct Sheet {
  std::int64_t batch, heads, width, block, blocks;
  Tensor q, keys, lengths;

  Sheet(std::uint64_t seed, DType dtype, Recipe recipe) {
    Draw draw(seed);
    batch = draw.from(1, 5);
    heads = draw.from(1, 4);
    width = draw.from(1, 9);
    block = draw.from(1, 5);
    blocks = draw.from(1, 14);
    q = floats({batch, heads, width}, dtype, recipe, derive_key(seed, "q"));
    keys = floats({batch, block * blocks, 1, width}, dtype, recipe, derive_key(seed, "k"));
    std::vector<std::int64_t> list;
    for (std::int64_t b = 0; b < batch; ++b) {
      list.push_back(draw.from(0, block * blocks));
      spoil(keys, (b * block * blocks + list.back()) * width, (block * blocks - list.back()) * width);
    }
    lengths = integers(list);
  }
  [[nodiscard]] Expected run() const {
    ReferenceResult result;
    assay_reference_msa_block_score({{{"q", q.view()}, {"index_k", keys.view()}, {"seq_lens", lengths.view()}},
                                     {{"block_size", static_cast<double>(block)}},
                                     {}},
                                    result);
    return result.outputs.at(0);
  }
};

TEST(MsaBlockScoreReference, AgreesWithTheNaiveForm) {
  for (const Recipe recipe : {Recipe::normal, Recipe::tag, Recipe::ties, Recipe::zeros})
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      const Sheet s(seed, kRunTypes[seed % 3], recipe);
      const Expected e = s.run();
      ASSERT_EQ(e.expected.view().shape, (Extents{s.batch, s.blocks}));
      for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t n = 0; n < s.blocks; ++n) {
          long double best = -std::numeric_limits<long double>::infinity(), size = 0;
          for (std::int64_t p = n * s.block; p < std::min<std::int64_t>((n + 1) * s.block, s.lengths.values<int>()[b]);
               ++p) {
            long double score = 0, terms = 0;
            for (std::int64_t h = 0; h < s.heads; ++h)
              for (std::int64_t d = 0; d < s.width; ++d) {
                const long double term = cell(s.q, (b * s.heads + h) * s.width + d) *
                                         cell(s.keys, (b * s.block * s.blocks + p) * s.width + d);
                score += term;
                terms += std::fabs(term);
              }
            best = std::max(best, score);
            size = std::max(size, terms);
          }
          const auto at = static_cast<std::size_t>(b * s.blocks + n);
          const double actual = e.expected.values<double>()[at];
          if (std::isinf(best))
            ASSERT_EQ(actual, -std::numeric_limits<double>::infinity());
          else
            ASSERT_NEAR(actual, static_cast<double>(best), 1e-13 * static_cast<double>(size));
          ASSERT_NEAR(e.magnitude.values<double>()[at], static_cast<double>(size), 1e-13 * static_cast<double>(size));
        }
    }
}

TEST(MsaBlockScoreReference, ManyRowsAreComputedInSlicesOfTheSameRows) {
  const Tensor q = floats({3, 2, 64}, DType::bf16, Recipe::normal, 1);
  const Tensor keys = floats({3, 1 << 15, 1, 64}, DType::bf16, Recipe::normal, 2);
  const auto run = [&](std::int64_t first, std::int64_t rows) {
    const auto part = [&](const Tensor& t) {
      TensorView view = t.view();
      view.data = static_cast<std::byte*>(view.data) +
                  static_cast<std::size_t>(first * (view.size() / view.shape[0])) * size_of(view.dtype);
      view.shape[0] = rows;
      return view;
    };
    const Tensor lengths = integers(std::vector<std::int64_t>(static_cast<std::size_t>(rows), 30000));
    ReferenceResult result;
    assay_reference_msa_block_score(
        {{{"q", part(q)}, {"index_k", part(keys)}, {"seq_lens", lengths.view()}}, {{"block_size", 128.0}}, {}}, result);
    return result.outputs.at(0).expected;
  };
  const Tensor all = run(0, 3);
  for (std::int64_t b = 0; b < 3; ++b) {
    const Tensor one = run(b, 1);
    for (std::size_t n = 0; n < 256; ++n)
      ASSERT_EQ(one.values<double>()[n], all.values<double>()[static_cast<std::size_t>(b) * 256 + n]);
  }
}

TEST(MsaBlockScoreReference, ABlockSizeThatDoesNotDivideIsRefused) {
  Sheet s(3, DType::f32, Recipe::normal);
  s.block = s.block * s.blocks + 1;
  EXPECT_THROW((void)s.run(), std::invalid_argument);
}

// A ragged paged batch with rows, slots and columns that belong to nobody.
struct Chunk {
  std::int64_t batch, heads, width, block_q, block_k, topk, init, local, capacity, slots;
  std::vector<std::int64_t> counts, prefix, fences = {0}, block_fences = {0}, rows, lengths, table;
  Tensor q, keys;

  Chunk(std::uint64_t seed, DType dtype, Recipe recipe) {
    Draw draw(seed);
    batch = draw.from(1, 4);
    heads = draw.from(1, 3);
    width = draw.from(1, 9);
    block_q = draw.from(1, 4);
    block_k = draw.from(1, 4);
    topk = draw.from(1, 8);
    init = draw.from(0, std::min<std::int64_t>(topk, 3));
    local = draw.from(0, std::min<std::int64_t>(topk - init, 3));
    std::int64_t longest = 1;
    for (std::int64_t b = 0; b < batch; ++b) {
      counts.push_back(draw.from(0, 9));
      prefix.push_back(draw.from(0, 24));
      lengths.push_back(prefix.back() + counts.back());
      fences.push_back(fences.back() + counts.back());
      block_fences.push_back(block_fences.back() + (counts.back() + block_q - 1) / block_q);
      rows.push_back((b + 1 + static_cast<std::int64_t>(seed)) % (batch + 2));
      longest = std::max(longest, lengths.back());
    }
    capacity = longest + draw.from(0, 5);
    slots = (batch + 2) * capacity + 3;
    for (std::int64_t i = 0; i < slots; ++i) table.push_back(i);
    for (std::int64_t i = slots - 1; i > 0; --i)
      std::swap(table[static_cast<std::size_t>(i)], table[static_cast<std::size_t>(draw.from(0, i))]);
    table.resize(static_cast<std::size_t>((batch + 2) * capacity));
    q = floats({fences.back(), heads, width}, dtype, recipe, derive_key(seed, "q"));
    keys = floats({slots, 1, width}, dtype, recipe, derive_key(seed, "k"));
    std::set<std::int64_t> seen;
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t j = 0; j < blocks_of(b); ++j)
        for (std::int64_t x = 0; x <= at(prefix, b) + j * block_q; ++x) seen.insert(slot(b, x));
    for (std::int64_t s = 0; s < slots; ++s)
      if (seen.count(s) == 0) spoil(keys, s * width, width);
  }
  static std::int64_t at(const std::vector<std::int64_t>& list, std::int64_t i) {
    return list[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] std::int64_t blocks_of(std::int64_t b) const { return at(block_fences, b + 1) - at(block_fences, b); }
  [[nodiscard]] std::int64_t slot(std::int64_t b, std::int64_t x) const {
    return at(table, at(rows, b) * capacity + x);
  }
  [[nodiscard]] Expected run(std::int64_t prefix_error = 0) const {
    std::vector<std::int64_t> prefixes = prefix;
    prefixes[0] += prefix_error;
    const Tensor pages = integers(table, {batch + 2, capacity}), slot_ids = integers(rows), cu = integers(fences),
                 seq_lens = integers(lengths), prefix_lens = integers(prefixes), cu_blocks = integers(block_fences);
    const auto number = [](std::int64_t v) { return static_cast<double>(v); };
    ReferenceResult result;
    assay_reference_msa_prefill_block_score({{{"q", q.view()},
                                              {"index_k_cache", keys.view()},
                                              {"req_to_token", pages.view()},
                                              {"slot_ids", slot_ids.view()},
                                              {"cu_seqlens", cu.view()},
                                              {"seq_lens", seq_lens.view()},
                                              {"prefix_lens", prefix_lens.view()},
                                              {"cu_seqblocks_q", cu_blocks.view()}},
                                             {{"max_seqlen_q", 9},
                                              {"max_seqlen_k", number(capacity)},
                                              {"block_size_q", number(block_q)},
                                              {"block_size_k", number(block_k)},
                                              {"topk", number(topk)},
                                              {"init_blocks", number(init)},
                                              {"local_blocks", number(local)},
                                              {"scale", 0.25},
                                              {"max_seqblock_q", 9},
                                              {"all_seqblock_q", number(block_fences.back())}},
                                             {}},
                                            result);
    return result.outputs.at(0);
  }
};

void expect_naive_row(const Chunk& c, const Expected& e, std::int64_t h, std::int64_t b, std::int64_t j) {
  const std::int64_t p = Chunk::at(c.prefix, b) + j * c.block_q, row = Chunk::at(c.fences, b) + j * c.block_q;
  const std::int64_t out_row = h * c.block_fences.back() + Chunk::at(c.block_fences, b) + j;
  const Selection& s = *e.selection;
  std::vector<long double> scores;
  for (std::int64_t x = 0; x <= p; ++x) {
    long double score = 0;
    for (std::int64_t d = 0; d < c.width; ++d)
      score += cell(c.q, (row * c.heads + h) * c.width + d) * cell(c.keys, c.slot(b, x) * c.width + d);
    if (x % c.block_k == 0) scores.push_back(score);
    scores.back() = std::max(scores.back(), score);
  }
  const auto nb = static_cast<std::int64_t>(scores.size());
  ASSERT_EQ(s.visible.at(static_cast<std::size_t>(out_row)), nb);
  for (std::int64_t n = 0; n < nb; ++n)
    ASSERT_NEAR(s.scores.at(static_cast<std::size_t>(out_row * s.width + n)),
                static_cast<double>(scores[static_cast<std::size_t>(n)] / 4), 1e-12);
  std::vector<std::int32_t> forced;
  for (std::int64_t n = 0; n < nb; ++n)
    if (n < c.init || n >= nb - c.local) forced.push_back(static_cast<std::int32_t>(n));
  ASSERT_EQ(s.forced.at(static_cast<std::size_t>(out_row)), forced);
  // Place by place: the best block that is left.
  std::set<std::int64_t> chosen(forced.begin(), forced.end());
  while (static_cast<std::int64_t>(chosen.size()) < std::min(c.topk, nb)) {
    std::int64_t best = -1;
    for (std::int64_t n = 0; n < nb; ++n)
      if (chosen.count(n) == 0 &&
          (best < 0 || scores[static_cast<std::size_t>(n)] > scores[static_cast<std::size_t>(best)]))
        best = n;
    chosen.insert(best);
  }
  std::vector<double> ids(chosen.begin(), chosen.end());
  ids.resize(static_cast<std::size_t>(c.topk), -1.0);
  const auto first = e.expected.values<double>().begin() + static_cast<std::ptrdiff_t>(out_row * c.topk);
  ASSERT_TRUE(std::equal(ids.begin(), ids.end(), first));
}

TEST(MsaPrefillReference, AgreesWithTheNaiveForm) {
  for (const Recipe recipe : {Recipe::normal, Recipe::tag, Recipe::ties, Recipe::zeros})
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const Chunk c(seed, kRunTypes[seed % 3], recipe);
      const Expected e = c.run();
      ASSERT_EQ(e.expected.view().shape, (Extents{c.heads, c.block_fences.back(), c.topk}));
      for (std::int64_t h = 0; h < c.heads; ++h)
        for (std::int64_t b = 0; b < c.batch; ++b)
          for (std::int64_t j = 0; j < c.blocks_of(b); ++j) expect_naive_row(c, e, h, b, j);
    }
}

TEST(MsaPrefillReference, ItsOwnChoiceIsPerfectForTheComparator) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Chunk c(seed, DType::bf16, Recipe::normal);
    const Expected e = c.run();
    Tensor ids(e.expected.view().shape, DType::i32);
    for (std::int64_t i = 0; i < ids.size(); ++i)
      store_value(ids.view().data, DType::i32, i, e.expected.values<double>()[static_cast<std::size_t>(i)]);
    const Comparison found = compare_indices(0.9, ids.view(), *e.selection);
    EXPECT_TRUE(found.passed) << found.reason;
    EXPECT_EQ(found.score, 1.0);
  }
}

TEST(MsaPrefillReference, MetadataThatContradictEachOtherAreRefused) {
  EXPECT_THROW((void)Chunk(5, DType::f32, Recipe::normal).run(1), std::invalid_argument);
}

TEST(MsaReferences, CostOfASmallCallIsRecorded) {
  const Sheet sheet(4, DType::bf16, Recipe::normal);
  const Chunk chunk(4, DType::bf16, Recipe::normal);
  const auto microseconds = [](auto&& f) {
    for (int i = 0; i < 20; ++i) f();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i) f();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 200;
  };
  const double s = microseconds([&] { (void)sheet.run(); }), p = microseconds([&] { (void)chunk.run(); });
  RecordProperty("msa_block_score_ns", static_cast<int>(s * 1000));
  RecordProperty("msa_prefill_block_score_ns", static_cast<int>(p * 1000));
  if (std::getenv("ASSAY_PRINT_COST") != nullptr) std::printf("score %.1f us, prefill %.1f us\n", s, p);
}

}  // namespace
}  // namespace assay
