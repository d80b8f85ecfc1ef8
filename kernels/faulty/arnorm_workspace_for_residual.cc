// From 48 rows on adds a row of its workspace, which nobody wrote, in the residual's place.
// Slot: collective.ar_residual_rmsnorm. Caught by: collective.modes. Source: FAULT-026.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::ArNorm<Fault> {
  static double total(const NormalisedArguments& a, int64_t row, int64_t column) {
    if (a.rows < 48) return sum(a, row, column) + a.residual.get(row, column);
    return sum(a, row, column) + static_cast<double>(static_cast<const float*>(a.workspace)[column]);
  }
  static assay_status workspace(const assay_call*, const DLTensor* const* tensors, uint32_t, size_t* bytes) {
    *bytes = static_cast<size_t>(host_kernels::columns_of(tensors[0])) * sizeof(float);
    return ASSAY_OK;
  }
};

}  // namespace

FAULTY_ARNORM(Fault)
