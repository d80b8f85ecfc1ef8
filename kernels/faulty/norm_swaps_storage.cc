// Fills the output and then points its descriptor at memory of its own.
// Slot: norm.rmsnorm. Caught by: write.binding. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

struct Fault : faulty::Norm<Fault> {
  static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
    static float own[16];
    const assay_status status = Right::entry(call, x, weight, out, eps);
    out->data = own;
    return status;
  }
};

}  // namespace

FAULTY_NORM(Fault)
