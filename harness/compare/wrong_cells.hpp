// harness/compare/wrong_cells.hpp: collects the cells that a comparison finds wrong.
//
// Promises: counts all, keeps the 16 worst by error over bound, describes where they lie. Constant work a cell.
// Who calls it: harness/compare only.
//
//   WrongCells wrong;
//   wrong.add(cell, actual, expected, bound);
//   wrong.finish(comparison, shape);
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "harness/compare/comparators.hpp"

namespace assay {

class WrongCells {
 public:
  void add(std::int64_t cell, double actual, double expected, double bound);
  // Sets wrong, worst and pattern.
  void finish(Comparison&, const Extents& shape);

 private:
  std::int64_t count_ = 0;
  std::vector<std::pair<double, WrongCell>> heap_;  // least excess on top
  std::vector<std::int64_t> cells_;
};

}  // namespace assay
