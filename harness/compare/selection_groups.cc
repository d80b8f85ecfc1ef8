#include "harness/compare/selection_groups.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "harness/compare/structure.hpp"
#include "harness/compare/topk.hpp"
#include "harness/compare/values.hpp"

namespace assay {
namespace {

struct Count {
  std::int64_t due = 0, missing = 0;
};

using Candidates = std::vector<std::pair<std::int64_t, double>>;

// Blocks that any right selection of `places` holds.
std::vector<std::int64_t> mandatory(const Candidates& candidates, std::int64_t places) {
  std::vector<std::int64_t> blocks;
  if (places <= 0 || static_cast<std::int64_t>(candidates.size()) <= places) return blocks;
  std::vector<double> order;
  double largest = 0;
  for (const auto& [block, score] : candidates) {
    order.push_back(score);
    largest = std::max(largest, std::fabs(score));
  }
  // Above the first block that is not chosen, by more than a near tie.
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(places), order.end(), std::greater<>());
  const double next = order[static_cast<std::size_t>(places)];
  for (const auto& [block, score] : candidates)
    if (score > next + 0x1p-16 * largest) blocks.push_back(block);
  return blocks;
}

class Tally {
 public:
  Tally(std::int64_t heads, std::int64_t width)
      : blocks_(static_cast<std::size_t>(width)), by_head_(static_cast<std::size_t>(heads)) {}

  void row(std::int64_t head, const std::vector<std::int64_t>& due, const std::vector<char>& chosen) {
    for (const std::int64_t b : due) {
      const bool missing = !chosen[static_cast<std::size_t>(b)];
      for (Count* c : {&blocks_[static_cast<std::size_t>(b)], &by_head_[static_cast<std::size_t>(head)]}) {
        ++c->due;
        c->missing += missing;
      }
    }
  }

  [[nodiscard]] SelectionReport report(double floor) const {
    for (const auto& [name, counts] : {std::pair("block", &blocks_), std::pair("head", &by_head_)})
      for (std::size_t i = 0; i < counts->size(); ++i) {
        const Count& c = (*counts)[i];
        const std::int64_t allowed = allowed_misses(c.due, floor);
        if (c.missing <= allowed) continue;
        return {false, std::string(name) + " " + std::to_string(i) + ": " + std::to_string(c.missing) + " of " +
                           std::to_string(c.due) + " clear choices are missing, " + std::to_string(allowed) + " allowed"};
      }
    return {};
  }

 private:
  std::vector<Count> blocks_, by_head_;
};

SelectionReport of_scores(const Comparator& mode, const TensorView& actual, const TensorView& expected) {
  const Values a(actual), e(expected);
  const std::int64_t cols = expected.shape.empty() ? 1 : expected.shape.back();
  const std::int64_t rows = cols ? element_count(expected.shape) / cols : 0;
  Tally tally(1, cols);
  for (std::int64_t r = 0; r < rows; ++r) {
    Candidates candidates;
    const auto first = static_cast<std::size_t>(r * cols);
    for (std::int64_t c = 0; c < cols; ++c)
      if (const double v = e.span()[first + static_cast<std::size_t>(c)]; std::isfinite(v)) candidates.emplace_back(c, v);
    const auto due = mandatory(candidates, mode.k);
    if (due.empty()) continue;
    std::vector<char> chosen(static_cast<std::size_t>(cols), 0);
    for (const std::int64_t b : best_columns(a.span().subspan(first, static_cast<std::size_t>(cols)), mode.k))
      chosen[static_cast<std::size_t>(b)] = 1;
    tally.row(0, due, chosen);
  }
  return tally.report(mode.floor);
}

SelectionReport of_indices(const Comparator& mode, const TensorView& actual, const Selection& selection) {
  const Values a(actual);
  const Extents& shape = actual.shape;
  const std::int64_t topk = shape.back(), rows = topk ? element_count(shape) / topk : 0;
  const std::int64_t heads = shape.size() >= 3 ? shape.front() : 1;
  Tally tally(std::max<std::int64_t>(heads, 1), selection.width);
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    const std::int64_t visible = selection.visible[row];
    std::vector<char> chosen(static_cast<std::size_t>(selection.width), 0), forced = chosen;
    for (const std::int32_t b : selection.forced[row]) forced[static_cast<std::size_t>(b)] = 1;
    Candidates candidates;
    const double* scores = selection.scores.data() + row * static_cast<std::size_t>(selection.width);
    for (std::int64_t b = 0; b < visible; ++b)
      if (!forced[static_cast<std::size_t>(b)]) candidates.emplace_back(b, scores[b]);
    const auto due =
        mandatory(candidates, std::min(topk, visible) - static_cast<std::int64_t>(selection.forced[row].size()));
    if (due.empty()) continue;
    for (std::int64_t c = 0; c < topk; ++c)
      if (const double id = a.span()[static_cast<std::size_t>(r * topk + c)];
          id >= 0 && id < static_cast<double>(selection.width))
        chosen[static_cast<std::size_t>(id)] = 1;
    tally.row(r / (rows / heads), due, chosen);
  }
  return tally.report(mode.floor);
}

}  // namespace

SelectionReport test_selection(const Comparator& mode, const TensorView& actual, const Expected& expected) {
  if (mode.mode == Mode::topk_scores) return of_scores(mode, actual, expected.expected.view());
  if (!expected.selection) return {};
  return of_indices(mode, actual, *expected.selection);
}

}  // namespace assay
