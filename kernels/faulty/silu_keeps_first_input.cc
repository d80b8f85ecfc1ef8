// Keeps the input address of the first call of a shape and reads there ever after.
// Slot: activation.silu_and_mul. Caught by: input.not_retained. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  struct Known {
    int64_t rows, width;
    faulty::Grid first;
  };
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    static Known known[64];
    static int count = 0;
    SiluArguments call_arguments = a;
    int index = 0;
    while (index < count &&
           !(known[index].rows == a.rows && known[index].width == a.width && known[index].first.cells == a.x.cells)) {
      ++index;
    }
    if (index == count && count < 64) known[count++] = {a.rows, a.width, a.x};
    if (index < count) call_arguments.x = known[index].first;
    return Right::enqueue(call, call_arguments);
  }
};

}  // namespace

FAULTY_SILU(Fault)
