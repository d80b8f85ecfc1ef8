// harness/compare/structure.hpp: is a row, head, column tail, expert, page or rank wrong as a whole, where the slot's
// comparator forgives a share of cells.
//
// Promises: spec/README.md "structured error". A group fails when more of its cells miss the tolerance than chance
// explains (the 1-1e-9 binomial quantile at the slot's floor), or when its relative L2 error exceeds both 4*rtol and
// six times the median group's. The L2 error leaves out, cell by cell, what rounding the output and partial sums in its
// dtype explains (eta_out + 2*u_out*magnitude), else a row that cancels to zero would condemn a right reduction.
// Not promised: errors that all groups share; those are the comparator's and number.bound's.
// Who calls it: number.no_structured_error.
//
//   const StructureReport r = test_groups(group_rows(shape), {out, e, m, DType::bf16, tolerance_for(DType::bf16),
//   0.97});
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/tensor.hpp"
#include "harness/compare/comparators.hpp"

namespace assay {

// Cell c belongs to group (c / inner) % count, or to of_cell[c] where that is set.
struct Grouping {
  std::string name = "group";  // "row", "head"
  std::int64_t count = 0;
  std::int64_t inner = 1;
  std::vector<std::uint32_t> of_cell{};
  std::vector<std::string> labels{};  // replaces "name number" where set
};

[[nodiscard]] Grouping group_rows(const Extents& shape);                                    // all dims but the last
[[nodiscard]] Grouping group_dim(std::string name, const Extents& shape, std::size_t dim);  // one index of one dim
// Group 1 is the columns from the last multiple of `width` on, group 0 the others; one group where there is no tail.
[[nodiscard]] Grouping group_column_tail(const Extents& shape, std::int64_t width);

struct StructureInput {
  TensorView actual, expected, magnitude;  // of one shape; the latter two float64
  DType output = DType::f32;               // the output's dtype
  Tolerance tolerance{};
  double floor = 1.0;  // share of cells that the slot's comparator asks for; 0: no count of misses
  double explained = 0.0;  // as in Comparator: errors under explained * magnitude are no misses
};

struct GroupFault {
  std::int64_t group = 0, cells = 0, misses = 0, allowed = 0;
  double error = 0, limit = 0;  // relative L2
};

struct StructureReport {
  bool passed = false;
  std::int64_t failed = 0;
  std::vector<GroupFault> worst;  // up to 16, by misses over what is allowed, then by error
  std::string reason;             // "row 3: 20 of 128 cells miss, 12 allowed; relative L2 error 1 over 0.08"
};

[[nodiscard]] StructureReport test_groups(const Grouping&, const StructureInput&);

// The least k with P(X > k) <= 1e-9 for X binomial over n cells that each miss with probability 1 - floor.
[[nodiscard]] std::int64_t allowed_misses(std::int64_t n, double floor);

}  // namespace assay
