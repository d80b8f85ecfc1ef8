// harness/compare/bound.hpp: the error that rounding the output and fp32 accumulation explain, and no more.
//
// Promises: number.bound of spec/README.md: |a-e| <= 1.05 * (u_out*|e| + eta_out + K*2^-23*magnitude) in every cell.
// Catches 16-bit accumulation that hides inside a slot's tolerance. Cells whose expectation is infinite (invisible
// scores) are not graded.
// Who calls it: number.bound; harness/compare/structure uses the constants.
//
//   const Comparison c = compare_bound({.output = DType::bf16, .k = 8}, out.view(), e.view(), magnitude.view());
#pragma once

#include "assay/tensor.hpp"
#include "harness/compare/comparators.hpp"

namespace assay {

[[nodiscard]] double unit_roundoff(DType) noexcept;    // u_out: half a unit in the last place over the value
[[nodiscard]] double underflow_bound(DType) noexcept;  // eta_out: half the least subnormal, or the least normal number
                                                       // where flushing to zero is allowed (bf16, fp32, fp64)

struct BoundRule {
  DType output = DType::f32;
  double k = 0;  // the slot's own: silu_and_mul 8, rmsnorm H+8, a product of length L: L+8
};

[[nodiscard]] double bound_of(const BoundRule&, double expected, double magnitude) noexcept;

// The score is the share of graded cells within the bound; passes where all are.
[[nodiscard]] Comparison compare_bound(const BoundRule&, const TensorView& actual, const TensorView& expected,
                                       const TensorView& magnitude);

}  // namespace assay
