// Writes the output in the layout of the input.
// Slot: norm.rmsnorm. Caught by: write.strides. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    NormArguments same = a;
    same.out.rows = a.x.rows;
    same.out.rows.data = a.out.rows.data;
    return Right::enqueue(call, same);
  }
};

}  // namespace

FAULTY_NORM(Fault)
