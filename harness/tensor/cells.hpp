// harness/tensor/cells.hpp: says in words where in a tensor a set of cells lies.
//
// Promises: one line for people, such as "tail of each row: columns 5 to 6 of 7", "every 2nd column, from 1",
// "last row (row 6)", "all 12 cells", "dim 1 = 2", "scattered: 9 of 120 cells, in 5 rows and 7 columns". Rank 2 speaks
// of rows and columns, higher ranks of dimensions. Never evidence.
// Who calls it: comparators, guard scanners, rules.
//
//   describe_cells({3, 7}, wrong, 6);
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "assay/tensor.hpp"

namespace assay {

// `cells` are row-major ordinals in any order without repeats; where it holds fewer than `total`, the words say so.
[[nodiscard]] std::string describe_cells(const Extents& shape, std::span<const std::int64_t> cells, std::int64_t total);

// "(3, 5)", or "()" for rank 0.
[[nodiscard]] std::string describe_index(const Extents& shape, std::int64_t cell);

// Callers that collect cells stop here: enough for every pattern, little enough to keep.
inline constexpr std::size_t most_described_cells = 65536;

}  // namespace assay
