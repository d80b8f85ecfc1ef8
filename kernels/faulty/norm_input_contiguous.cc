// Treats the input as contiguous, a strided row of rank 1 included.
// Slot: norm.rmsnorm. Caught by: input.strides. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    NormArguments dense = a;
    dense.x.rows.step = 1;
    dense.x.rows.leads = 1;
    dense.x.rows.extents[0] = a.rows;
    dense.x.rows.strides[0] = a.width;
    return Right::enqueue(call, dense);
  }
};

}  // namespace

FAULTY_NORM(Fault)
