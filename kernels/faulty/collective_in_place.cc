// Reduces into x and copies that to the output.
// Slot: collective.all_reduce. Caught by: input.unchanged. Source: blame:device_fault (slots.md 5.9).
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static void kernel(const void* memory, uint32_t block, uint32_t blocks) {
    ReduceArguments in_place = *static_cast<const ReduceArguments*>(memory);
    in_place.out = in_place.x;
    Right::kernel(&in_place, block, blocks);
  }
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    return faulty::launch(call, call->host_stream, kernel, 1, a);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
