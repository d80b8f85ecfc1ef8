// harness/compare/chosen_test.hpp: score sheets and index outputs with random scores, and the right choices of them.
//
// Promises: fixed by their sizes; no two scores tie. Rows of an index output force block 0.
// Who calls it: tests only.
//
//   Chosen c = chosen_indices(4, 256, 32, 4);
//   c.never(5);                                     // no row holds block 5, others take its place
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "assay/reference.hpp"
#include "harness/compare/comparators.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {

struct Chosen {
  Comparator mode;
  Tensor actual;
  Expected expected;
  std::int64_t width = 0, places = 0;
  std::vector<std::vector<std::int32_t>> best;  // of a row, all blocks by falling score

  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(best.size()); }
  [[nodiscard]] bool indices() const { return mode.mode == Mode::topk_indices; }

  // Row r leaves the block out, and takes its worst one in its place, where it holds it.
  void leave_out(std::int64_t row, std::int32_t block) {
    const auto r = static_cast<std::size_t>(row);
    if (!indices()) {
      actual.view().at<float>({row, block}) = -100;
      return;
    }
    for (std::int64_t p = 0; p < places; ++p)
      if (auto& id = actual.values<std::int32_t>()[static_cast<std::size_t>(row * places + p)]; id == block)
        id = best[r][static_cast<std::size_t>(width - 1 - p)];
  }
  void never(std::int32_t block) {
    for (std::int64_t r = 0; r < rows(); ++r) leave_out(r, block);
  }
};

inline double made_up_score(std::int64_t row, std::int64_t block) {
  const std::uint64_t draw = mix64(static_cast<std::uint64_t>(row * 4096 + block) + 1);
  return static_cast<double>(draw >> 40) * 0x1p-24 - 0.5;
}

inline std::vector<std::vector<std::int32_t>> best_of_rows(std::int64_t rows, std::int64_t width) {
  std::vector<std::vector<std::int32_t>> best;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<std::int32_t>& order = best.emplace_back(static_cast<std::size_t>(width));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [r](std::int32_t x, std::int32_t y) { return made_up_score(r, x) > made_up_score(r, y); });
  }
  return best;
}

// (heads, rows, topk) of `width` blocks, all of them visible.
inline Chosen chosen_indices(std::int64_t heads, std::int64_t rows, std::int64_t width, std::int64_t topk) {
  Chosen c;
  c.mode = {.mode = Mode::topk_indices, .floor = 0.90};
  c.width = width;
  c.places = topk;
  c.best = best_of_rows(heads * rows, width);
  c.actual = Tensor({heads, rows, topk}, DType::i32);
  c.expected.expected = Tensor({heads, rows, topk}, DType::f64);
  c.expected.magnitude = Tensor({heads, rows, topk}, DType::f64);
  auto selection = std::make_shared<Selection>();
  selection->width = width;
  selection->visible.assign(c.best.size(), width);
  selection->forced.assign(c.best.size(), {0});
  std::size_t cell = 0;
  for (std::int64_t r = 0; r < c.rows(); ++r) {
    auto& order = c.best[static_cast<std::size_t>(r)];
    std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), std::find(order.begin(), order.end(), 0) + 1);
    for (std::int64_t b = 0; b < width; ++b) selection->scores.push_back(made_up_score(r, b));
    for (std::int64_t p = 0; p < topk; ++p, ++cell) {
      c.actual.values<std::int32_t>()[cell] = order[static_cast<std::size_t>(p)];
      c.expected.expected.values<double>()[cell] = order[static_cast<std::size_t>(p)];
    }
  }
  c.expected.selection = std::move(selection);
  return c;
}

// (rows, width) scores, graded through the k best; the last block is invisible.
inline Chosen chosen_scores(std::int64_t rows, std::int64_t width, std::int64_t k) {
  Chosen c;
  c.mode = {.mode = Mode::topk_scores, .floor = 0.875, .k = k};
  c.width = width;
  c.places = k;
  c.best = best_of_rows(rows, width - 1);
  c.actual = Tensor({rows, width}, DType::f32);
  c.expected = {Tensor({rows, width}, DType::f64), Tensor({rows, width}, DType::f64)};
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t b = 0; b < width; ++b) {
      const bool visible = b + 1 < width;
      const double score = visible ? made_up_score(r, b) : -std::numeric_limits<double>::infinity();
      c.actual.view().at<float>({r, b}) = static_cast<float>(score);
      c.expected.expected.view().at<double>({r, b}) = score;
      c.expected.magnitude.view().at<double>({r, b}) = visible ? 1.0 : 0.0;
    }
  return c;
}

}  // namespace assay
