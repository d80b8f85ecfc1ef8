// Hands the residual sum out as the norm and the norm as the residual sum.
// Slot: collective.ar_residual_rmsnorm. Caught by: number.reference. Source: slots.md 5.10.
#include "kernels/faulty/residual_norm.hpp"

namespace {

struct Fault : faulty::ArNorm<Fault> {
  static assay_status entry(const assay_call* call, assay_in x, assay_in residual, assay_in weight, double eps,
                            assay_out out_norm, assay_out out_residual) {
    return Right::entry(call, x, residual, weight, eps, out_residual, out_norm);
  }
};

}  // namespace

FAULTY_ARNORM(Fault)
