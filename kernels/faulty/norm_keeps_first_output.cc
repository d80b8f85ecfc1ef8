// Keeps the output address of the first call of a shape and writes there ever after.
// Slot: norm.rmsnorm. Caught by: input.not_retained. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  struct Known {
    int64_t rows, width;
    faulty::Grid first;
  };
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    static Known known[64];
    static int count = 0;
    NormArguments call_arguments = a;
    int index = 0;
    while (index < count &&
           !(known[index].rows == a.rows && known[index].width == a.width && known[index].first.cells == a.x.cells)) {
      ++index;
    }
    if (index == count && count < 64) known[count++] = {a.rows, a.width, a.out};
    if (index < count) call_arguments.out = known[index].first;
    return Right::enqueue(call, call_arguments);
  }
};

}  // namespace

FAULTY_NORM(Fault)
