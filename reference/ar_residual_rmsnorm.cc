#include "reference/ar_residual_rmsnorm.hpp"

#include <ATen/ATen.h>

#include "reference/all_reduce.hpp"
#include "reference/residual_norm.hpp"

void assay_reference_ar_residual_rmsnorm(const assay::ReferenceCall& call, assay::ReferenceResult& result) {
  const c10::InferenceMode no_autograd;
  assay::ReferenceResult sum;
  assay_reference_all_reduce(call, sum);
  const assay::Expected& x = sum.outputs.front();
  assay::reference::append_residual_norm(call, x.expected, x.magnitude, result);
}
