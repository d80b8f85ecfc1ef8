#include "harness/tensor/cells.hpp"

#include <algorithm>
#include <vector>

namespace assay {
namespace {

using Cells = std::vector<std::int64_t>;

std::string number(std::int64_t n) { return std::to_string(n); }

std::string ordinal(std::int64_t n) {
  if (n % 100 >= 11 && n % 100 <= 13) return number(n) + "th";
  const std::int64_t digit = n % 10;
  return number(n) + (digit == 1 ? "st" : digit == 2 ? "nd" : digit == 3 ? "rd" : "th");
}

// The step of an arithmetic progression that runs to the end of [0, extent), else 0.
std::int64_t stride_of(const Cells& at, std::int64_t extent) {
  if (at.size() < 3) return 0;
  const std::int64_t step = at[1] - at[0];
  if (step < 2 || at.back() + step < extent) return 0;
  for (std::size_t i = 2; i < at.size(); ++i)
    if (at[i] - at[i - 1] != step) return 0;
  return step;
}

// The indices of one dimension: "row 3", "columns 5 to 6 of 7", "every 2nd row, from 1". `noun` is singular.
std::string describe_places(const std::string& noun, const Cells& at, std::int64_t extent) {
  if (at.size() == 1) return noun + " " + number(at[0]);
  if (at.back() - at.front() + 1 == static_cast<std::int64_t>(at.size()))
    return noun + "s " + number(at.front()) + " to " + number(at.back()) + " of " + number(extent);
  if (const std::int64_t step = stride_of(at, extent); step != 0)
    return "every " + ordinal(step) + " " + noun + ", from " + number(at.front());
  std::string text = noun + "s ";
  for (std::size_t i = 0; i < at.size() && i < 6; ++i) text += (i == 0 ? "" : ", ") + number(at[i]);
  return at.size() > 6 ? text + ", ... (" + number(static_cast<std::int64_t>(at.size())) + " in all)" : text;
}

bool is_tail(const Cells& at, std::int64_t extent) {
  return at.back() == extent - 1 && at.back() - at.front() + 1 == static_cast<std::int64_t>(at.size());
}

std::string describe_matrix(const Cells& rows, const Cells& cols, const Extents& shape) {
  const bool all_rows = static_cast<std::int64_t>(rows.size()) == shape[0];
  const bool all_cols = static_cast<std::int64_t>(cols.size()) == shape[1];
  const std::string row_words = describe_places("row", rows, shape[0]);
  const std::string col_words = describe_places("column", cols, shape[1]);
  if (all_cols) {
    if (rows.size() == 1) return is_tail(rows, shape[0]) ? "last row (" + row_words + ")" : row_words + " only";
    return "all of " + row_words;
  }
  if (!all_rows) return row_words + ", " + col_words;
  if (is_tail(cols, shape[1])) return "tail of each row: " + col_words;
  if (cols.front() == 0 && cols.size() > 1 && stride_of(cols, shape[1]) == 0 &&
      cols.back() + 1 == static_cast<std::int64_t>(cols.size()))
    return "head of each row: " + col_words;
  return cols.size() == 1 ? col_words + " of each row" : col_words;
}

// Where the cells are the product of one set of indices a dimension, those sets in words; else empty.
std::string describe_product(const Extents& shape, const Cells& cells) {
  std::vector<Cells> at(shape.size());
  for (const std::int64_t cell : cells) {
    std::int64_t rest = cell;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) at[d].push_back(rest % shape[d]);
  }
  std::size_t product = 1;
  for (Cells& dim : at) {
    std::sort(dim.begin(), dim.end());
    dim.erase(std::unique(dim.begin(), dim.end()), dim.end());
    product *= dim.size();
  }
  if (product != cells.size()) return {};
  if (shape.size() == 1) {
    if (at[0].size() > 1 && is_tail(at[0], shape[0])) return "tail: " + describe_places("cell", at[0], shape[0]);
    return describe_places("cell", at[0], shape[0]);
  }
  if (shape.size() == 2) return describe_matrix(at[0], at[1], shape);
  std::string text;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (static_cast<std::int64_t>(at[d].size()) == shape[d]) continue;
    const std::string dim = "dim " + number(static_cast<std::int64_t>(d));
    const std::string places = describe_places("index", at[d], shape[d]);
    text += (text.empty() ? "" : ", ") + (at[d].size() == 1 ? dim + " = " + number(at[d][0]) : dim + ": " + places);
  }
  for (std::size_t found; (found = text.find("indexs")) != std::string::npos;) text.replace(found, 6, "indices");
  return text;
}

std::string describe_scatter(const Extents& shape, const Cells& cells, std::int64_t count) {
  const auto known = static_cast<std::int64_t>(cells.size());
  if (cells.back() - cells.front() + 1 == known) {
    if (cells.back() == count - 1) return "everything from cell " + describe_index(shape, cells.front());
    if (cells.front() == 0) return "everything up to cell " + describe_index(shape, cells.back());
    return "cells " + describe_index(shape, cells.front()) + " to " + describe_index(shape, cells.back());
  }
  if (const std::int64_t step = stride_of(cells, count); step != 0)
    return "every " + ordinal(step) + " cell, from " + describe_index(shape, cells.front());
  Cells rows, cols;
  for (const std::int64_t cell : cells) {
    rows.push_back(cell / shape.back());
    cols.push_back(cell % shape.back());
  }
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::sort(cols.begin(), cols.end());
  cols.erase(std::unique(cols.begin(), cols.end()), cols.end());
  return "scattered: " + number(known) + " of " + number(count) + " cells, in " +
         number(static_cast<std::int64_t>(rows.size())) + " rows and " +
         number(static_cast<std::int64_t>(cols.size())) + " columns";
}

}  // namespace

std::string describe_index(const Extents& shape, std::int64_t cell) {
  std::string text;
  for (std::size_t d = shape.size(); d-- > 0; cell /= shape[d])
    text = number(cell % shape[d]) + (text.empty() ? "" : ", ") + text;
  return "(" + text + ")";
}

std::string describe_cells(const Extents& shape, std::span<const std::int64_t> cells, std::int64_t total) {
  if (total == 0 || cells.empty()) return "no cells";
  const std::int64_t count = element_count(shape);
  if (total == count) return count == 1 ? "the only cell" : "all " + number(count) + " cells";
  if (total == 1) return "cell " + describe_index(shape, cells[0]);
  Cells sorted(cells.begin(), cells.end());
  std::sort(sorted.begin(), sorted.end());
  std::string prefix;
  if (static_cast<std::int64_t>(sorted.size()) < total)
    prefix = "the first " + number(static_cast<std::int64_t>(sorted.size())) + " of " + number(total) + ": ";
  const std::string product = describe_product(shape, sorted);
  return prefix + (product.empty() ? describe_scatter(shape, sorted, count) : product);
}

}  // namespace assay
