#include "harness/compare/wrong_cells.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/tensor/cells.hpp"

namespace assay {
namespace {

constexpr std::size_t most_worst = 16;

// Greater excess first; equal ones by position, so that reports do not depend on the order of a heap.
bool worse(const std::pair<double, WrongCell>& x, const std::pair<double, WrongCell>& y) {
  return x.first != y.first ? x.first > y.first : x.second.cell < y.second.cell;
}

}  // namespace

void WrongCells::add(std::int64_t cell, double actual, double expected, double bound) {
  ++count_;
  if (cells_.size() < most_described_cells) cells_.push_back(cell);
  const double error = std::fabs(actual - expected);
  // Without a bound of its own (cosine, not finite) a cell ranks by its error; NaN ranks first.
  const double excess = std::isnan(error) ? std::numeric_limits<double>::infinity()
                        : bound > 0.0     ? error / bound
                                          : error;
  std::pair<double, WrongCell> entry{excess, {cell, actual, expected, bound}};
  if (heap_.size() == most_worst) {
    if (!worse(entry, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), worse);
    heap_.pop_back();
  }
  heap_.push_back(entry);
  std::push_heap(heap_.begin(), heap_.end(), worse);
}

void WrongCells::finish(Comparison& result, const Extents& shape) {
  std::sort(heap_.begin(), heap_.end(), worse);
  result.wrong = count_;
  result.worst.clear();
  for (const auto& [excess, cell] : heap_) result.worst.push_back(cell);
  result.pattern = count_ == 0 ? "" : describe_cells(shape, cells_, count_);
}

}  // namespace assay
