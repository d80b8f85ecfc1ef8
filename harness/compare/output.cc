#include "harness/compare/output.hpp"

#include <stdexcept>

#include "harness/compare/topk.hpp"

namespace assay {
namespace {

const Selection& selection_of(const Expected& e) {
  if (!e.selection) throw std::invalid_argument("the reference of an index output has no selection");
  return *e.selection;
}

}  // namespace

Comparison compare_output(const Comparator& mode, DType run, const TensorView& actual, const Expected& e) {
  if (mode.mode == Mode::topk_indices) return compare_indices(mode.floor, actual, selection_of(e));
  return compare(mode, tolerance_for(run), actual, e.expected.view(), &e.magnitude.view());
}

NullCheck null_check_output(const Comparator& mode, DType run, const Expected& e) {
  if (mode.mode == Mode::topk_indices) return null_check_indices(mode.floor, e.expected.view().shape, selection_of(e));
  return null_check(mode, tolerance_for(run), e.expected.view());
}

}  // namespace assay
