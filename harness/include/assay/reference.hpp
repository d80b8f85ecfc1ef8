// assay/reference.hpp: what a trusted reference is given and what it returns.
//
// Promises: a reference reads logical inputs (never a candidate's output, never candidate-prepared state), computes
// in float64 where its inputs live, and returns for each output, in the slot's order, the exact expected value and
// the magnitude (sum of the absolute terms), both float64, contiguous, of the output's logical shape.
// Who uses it: reference/*.cc, one file a slot; a stranger's own references.
//
//   extern "C" void assay_reference_gelu(const assay::ReferenceCall& call, assay::ReferenceResult& result);
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assay/tensor.hpp"

namespace assay {

struct ReferenceCall {
  std::map<std::string, TensorView> inputs;      // by argument name, weights included
  std::map<std::string, double> scalars;         // by argument name; integers are exact below 2^53
  std::map<std::string, std::int64_t> dims;      // the case's dims, for slots whose shapes do not say all
  std::map<std::string, std::string> knobs = {};  // the case's knobs: profile and the like
  // Collective slots: the inputs that differ by rank, one map a rank; `inputs` holds rank 0's.
  std::vector<std::map<std::string, TensorView>> ranks = {};
};

// Rows of an output (all its dims but the last) that belong together by value: row r is of group of_row[r].
struct RowGroups {
  std::string name;                    // "expert"
  std::int64_t count = 0;
  std::vector<std::uint32_t> of_row;
};

// What the reference knows of an index output of shape (..., topk), one row for each leading index.
struct Selection {
  std::int64_t width = 0;                         // scores a row
  std::vector<double> scores;                     // rows * width; the first visible[row] of a row count
  std::vector<std::int64_t> visible;              // visible blocks of a row
  std::vector<std::vector<std::int32_t>> forced;  // a row's forced blocks, without repeats, fewer than topk + 1
};

struct Expected {
  Tensor expected;   // float64; score sheets: -inf is invisible; indices: one best choice
  Tensor magnitude;  // float64
  std::vector<RowGroups> groups = {};
  std::shared_ptr<const Selection> selection = {};  // index outputs
};

struct ReferenceResult {
  std::vector<Expected> outputs;  // in the slot's order of outputs
};

using ReferenceFunction = void (*)(const ReferenceCall&, ReferenceResult&);

// Names a reference. A function of the judge's own program, or a symbol of libassay_reference.so, which is loaded
// when the first reference is needed: a process that links libtorch starts in 0.7 s.
struct Reference {
  const char* symbol = nullptr;
  ReferenceFunction function = nullptr;

  constexpr Reference() = default;
  constexpr explicit Reference(const char* name) : symbol(name) {}
  constexpr Reference(ReferenceFunction f) : function(f) {}
};

}  // namespace assay
