// Its first call in a process hands every rank its own x back; later ones are right.
// Slot: collective.all_reduce. Caught by: collective.reference. Source: rules.md.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    static bool warm = false;
    ReduceArguments first = a;
    first.first = warm ? 0 : -1;
    warm = true;
    return faulty::launch(call, call->host_stream, kernel, 1, first);
  }
  static void kernel(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const ReduceArguments*>(memory);
    if (a.first == 0) return Right::kernel(memory, block, blocks);
    for (int64_t row = 0; row < a.rows; ++row)
      for (int64_t column = 0; column < a.width; ++column) a.out.set(row, column, a.x.get(row, column));
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
