#include "harness/compare/topk.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "harness/compare/values.hpp"
#include "harness/tensor/cells.hpp"

namespace assay {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double row_floor = 0.5;  // of a row that has something to choose
constexpr double null_margin = 0.02;

using Blocks = std::vector<std::int64_t>;

// How many of the chosen blocks are right: candidates are the blocks for the free places with their scores, `places`
// the number of free places. Mandatory ones lie clearly above the cut; those at the cut are interchangeable.
std::int64_t right_choices(const std::vector<std::pair<std::int64_t, double>>& candidates, std::int64_t places,
                           const std::vector<char>& chosen) {
  if (places <= 0) return 0;
  std::vector<double> order;
  double largest = 0.0;
  for (const auto& [block, score] : candidates) {
    order.push_back(score);
    largest = std::max(largest, std::fabs(score));
  }
  const auto cut_at = order.begin() + static_cast<std::ptrdiff_t>(places) - 1;
  std::nth_element(order.begin(), cut_at, order.end(), std::greater<>());
  const double cut = *cut_at;
  const double delta = 0x1p-16 * largest;
  std::int64_t mandatory = 0, mandatory_chosen = 0, interchangeable_chosen = 0;
  for (const auto& [block, score] : candidates) {
    const bool taken = chosen[static_cast<std::size_t>(block)] != 0;
    if (score > cut + delta) {
      ++mandatory;
      mandatory_chosen += taken;
    } else if (score >= cut - delta) {
      interchangeable_chosen += taken;
    }
  }
  return mandatory_chosen + std::min(interchangeable_chosen, places - mandatory);
}

// The mean of rows' overlaps and what is wrong with them, in the making.
struct Overlaps {
  double sum = 0, informative_sum = 0;
  std::int64_t rows = 0, informative = 0;
  std::int64_t lost_row = -1;  // the worst informative row under the row floor
  double lost = row_floor;
  Blocks imperfect;
  std::int64_t imperfect_count = 0;

  void add(std::int64_t row, double overlap, bool has_choice) {
    sum += overlap;
    ++rows;
    if (overlap < 1.0) {
      ++imperfect_count;
      if (imperfect.size() < most_described_cells) imperfect.push_back(row);
    }
    if (!has_choice) return;
    informative_sum += overlap;
    ++informative;
    if (overlap < lost) {
      lost = overlap;
      lost_row = row;
    }
  }
};

Extents leading(const Extents& shape) { return shape.empty() ? Extents{} : Extents(shape.begin(), shape.end() - 1); }

Comparison grade(const Overlaps& overlaps, double floor, const Extents& shape) {
  Comparison result;
  result.score = overlaps.sum / static_cast<double>(overlaps.rows);
  result.wrong = overlaps.imperfect_count;
  result.pattern = result.wrong == 0 ? "" : describe_cells(leading(shape), overlaps.imperfect, result.wrong);
  char line[160];
  if (result.score < floor) {
    std::snprintf(line, sizeof line, "mean overlap %.6g is under %.6g; imperfect rows: ", result.score, floor);
    result.reason = line + result.pattern;
  } else if (overlaps.lost_row >= 0) {
    std::snprintf(line, sizeof line, " has an overlap of %.6g, under %.6g", overlaps.lost, row_floor);
    result.reason = "row " + describe_index(leading(shape), overlaps.lost_row) + line;
  }
  result.passed = result.reason.empty();
  return result;
}

Comparison failed(std::string reason) {
  Comparison result;
  result.max_abs = result.max_rel = infinity;
  result.reason = std::move(reason);
  return result;
}

Comparison case_fault(CaseFault fault, std::string reason) {
  Comparison result;
  result.reason = std::move(reason);
  result.fault = fault;
  return result;
}

// Overlaps of the rows of a sheet that have a visible block. Both sheets are free of NaN and +inf.
Overlaps sheet_overlaps(std::int64_t k, std::int64_t cols, std::span<const double> a, std::span<const double> e) {
  Overlaps overlaps;
  const auto width = static_cast<std::size_t>(cols);
  for (std::size_t first = 0; first < e.size(); first += width) {
    std::vector<std::pair<std::int64_t, double>> candidates;
    for (std::size_t c = 0; c < width; ++c)
      if (std::isfinite(e[first + c])) candidates.emplace_back(static_cast<std::int64_t>(c), e[first + c]);
    if (candidates.empty()) continue;
    const auto visible = static_cast<std::int64_t>(candidates.size());
    const std::int64_t places = std::min(k, visible);
    std::vector<char> chosen(width, 0);
    for (const std::int64_t block : best_columns(a.subspan(first, width), places))
      chosen[static_cast<std::size_t>(block)] = 1;
    const std::int64_t right = right_choices(candidates, places, chosen);
    overlaps.add(static_cast<std::int64_t>(first / width), static_cast<double>(right) / static_cast<double>(places),
                 visible > k);
  }
  return overlaps;
}

bool rankable(std::span<const double> values) {
  return std::none_of(values.begin(), values.end(), [](double v) { return std::isnan(v) || v == infinity; });
}

double index_floor(double floor, std::int64_t topk, std::int64_t informative) {
  return informative >= 64 ? std::max(floor, 1.0 - 0.8 / static_cast<double>(topk)) : floor;
}

std::string whole(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

std::string index_fault(const Extents& shape, std::int64_t row, std::int64_t value, const char* what) {
  return "row " + describe_index(leading(shape), row) + ": " + what + " " + std::to_string(value);
}

std::int64_t rows_of(const Extents& shape, const Selection& selection) {
  const std::int64_t rows = element_count(leading(shape));
  const auto size = static_cast<std::size_t>(rows);
  if (shape.empty() || selection.visible.size() != size || selection.forced.size() != size ||
      selection.scores.size() != size * static_cast<std::size_t>(selection.width))
    throw std::invalid_argument("a selection has one entry for each row of the output");
  for (const std::int64_t visible : selection.visible)
    if (visible < 0 || visible > selection.width) throw std::invalid_argument("a row has a score a visible block");
  return rows;
}

// One row of chosen ids that obey the structural rules.
double index_overlap(const Selection& selection, std::int64_t row, std::int64_t places, std::vector<char>& chosen) {
  const auto r = static_cast<std::size_t>(row);
  const double* scores = selection.scores.data() + r * static_cast<std::size_t>(selection.width);
  std::vector<char> forced(chosen.size(), 0);
  for (const std::int32_t block : selection.forced[r]) forced[static_cast<std::size_t>(block)] = 1;
  std::vector<std::pair<std::int64_t, double>> candidates;
  for (std::int64_t b = 0; b < selection.visible[r]; ++b)
    if (forced[static_cast<std::size_t>(b)] == 0) candidates.emplace_back(b, scores[b]);
  const auto held = static_cast<std::int64_t>(selection.forced[r].size());
  const std::int64_t right = held + right_choices(candidates, places - held, chosen);
  return places == 0 ? 1.0 : static_cast<double>(right) / static_cast<double>(places);
}

bool scores_are_finite(const Selection& selection) {
  for (std::size_t r = 0; r < selection.visible.size(); ++r)
    for (std::int64_t b = 0; b < selection.visible[r]; ++b)
      if (!std::isfinite(selection.scores[r * static_cast<std::size_t>(selection.width) + static_cast<std::size_t>(b)]))
        return false;
  return true;
}

}  // namespace

Blocks best_columns(std::span<const double> row, std::int64_t count) {
  Blocks order(row.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  const auto better = [&](std::int64_t x, std::int64_t y) {
    const double sx = row[static_cast<std::size_t>(x)], sy = row[static_cast<std::size_t>(y)];
    return sx != sy ? sx > sy : x < y;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), better);
  order.resize(static_cast<std::size_t>(count));
  return order;
}

Comparison compare_scores(const Comparator& mode, const Extents& shape, std::span<const double> actual,
                          std::span<const double> expected) {
  if (!rankable(expected)) return case_fault(CaseFault::expected_not_finite, "the expected sheet holds NaN or +inf");
  if (!rankable(actual)) {
    Blocks cells;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < actual.size(); ++i)
      if (std::isnan(actual[i]) || actual[i] == infinity) {
        ++count;
        if (cells.size() < most_described_cells) cells.push_back(static_cast<std::int64_t>(i));
      }
    Comparison result = failed(std::to_string(count) + " scores are NaN or +inf: ");
    result.wrong = count;
    result.pattern = describe_cells(shape, cells, count);
    result.reason += result.pattern;
    return result;
  }
  const std::int64_t cols = shape.empty() ? 1 : shape.back();
  const Overlaps overlaps = sheet_overlaps(mode.k, cols, actual, expected);
  if (overlaps.rows == 0) return case_fault(CaseFault::vacuous, "no row of the sheet has a visible block");
  return grade(overlaps, mode.floor, shape);
}

NullCheck null_check_scores(const Comparator& mode, const TensorView& expected) {
  NullCheck result;
  result.limit = mode.floor - null_margin;
  const Values sheet(expected);
  const std::span<const double> e = sheet.span();
  if (e.empty() || !rankable(e)) return result;
  std::vector<double> null(e.size());
  std::transform(e.begin(), e.end(), null.begin(), [](double v) { return std::isfinite(v) ? 0.0 : -infinity; });
  const Overlaps overlaps = sheet_overlaps(mode.k, expected.shape.empty() ? 1 : expected.shape.back(), null, e);
  if (overlaps.informative == 0) return result;
  result.score = overlaps.informative_sum / static_cast<double>(overlaps.informative);
  result.informative = result.score <= result.limit;
  return result;
}

Comparison compare_indices(double floor, const TensorView& actual, const Selection& selection) {
  if (actual.dtype != DType::i32 && actual.dtype != DType::i64) throw std::invalid_argument("indices are integers");
  const Extents& shape = actual.shape;
  const std::int64_t rows = rows_of(shape, selection);
  const std::int64_t topk = shape.back();
  if (rows == 0 || topk == 0) {
    Comparison empty;
    empty.passed = true;
    empty.score = 1.0;
    return empty;
  }
  if (!scores_are_finite(selection))
    return case_fault(CaseFault::expected_not_finite, "the expected scores hold NaN or infinity");
  const Values values(actual);
  Overlaps overlaps;
  std::string warning;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto r = static_cast<std::size_t>(row);
    const std::int64_t visible = selection.visible[r];
    const std::int64_t places = std::min(topk, visible);
    std::vector<char> chosen(static_cast<std::size_t>(visible), 0);
    std::int64_t count = 0;
    for (std::int64_t c = 0; c < topk; ++c) {
      const double value = values.span()[static_cast<std::size_t>(row * topk + c)];
      // Compared before it is narrowed: poison of an int64 output rounds to 2^63, which no int64 holds.
      if (value >= static_cast<double>(visible))
        return failed("row " + describe_index(leading(shape), row) + ": block that is not visible: " + whole(value));
      if (value < -1.0) return failed("row " + describe_index(leading(shape), row) + ": id under -1: " + whole(value));
      const auto id = static_cast<std::int64_t>(value);
      if (id == -1) continue;
      if (chosen[static_cast<std::size_t>(id)] != 0) return failed(index_fault(shape, row, id, "repeated block"));
      chosen[static_cast<std::size_t>(id)] = 1;
      if (count++ != c && warning.empty()) warning = index_fault(shape, row, id, "-1 stands before block");
    }
    if (count != places)
      return failed(index_fault(shape, row, count, "blocks selected:") + ", due are " + std::to_string(places));
    for (const std::int32_t block : selection.forced[r])
      if (block < 0 || block >= visible || chosen[static_cast<std::size_t>(block)] == 0)
        return failed(index_fault(shape, row, block, "forced block is missing:"));
    overlaps.add(row, index_overlap(selection, row, places, chosen), visible > topk);
  }
  Comparison result = grade(overlaps, index_floor(floor, topk, overlaps.informative), shape);
  result.warning = warning;
  return result;
}

NullCheck null_check_indices(double floor, const Extents& shape, const Selection& selection) {
  const std::int64_t rows = rows_of(shape, selection);
  const std::int64_t topk = shape.back();
  Overlaps overlaps;
  const bool gradable = scores_are_finite(selection);
  for (std::int64_t row = 0; row < rows && gradable; ++row) {
    const auto r = static_cast<std::size_t>(row);
    if (selection.visible[r] <= topk) continue;
    std::vector<char> chosen(static_cast<std::size_t>(selection.visible[r]), 0);
    for (const std::int32_t block : selection.forced[r]) chosen[static_cast<std::size_t>(block)] = 1;
    auto left = topk - static_cast<std::int64_t>(selection.forced[r].size());
    for (std::size_t b = 0; left > 0; ++b) {
      if (chosen[b] != 0) continue;
      chosen[b] = 1;
      --left;
    }
    overlaps.add(row, index_overlap(selection, row, topk, chosen), true);
  }
  NullCheck result;
  result.limit = index_floor(floor, topk, overlaps.informative) - null_margin;
  if (overlaps.informative == 0) return result;
  result.score = overlaps.informative_sum / static_cast<double>(overlaps.informative);
  result.informative = result.score <= result.limit;
  return result;
}

}  // namespace assay
