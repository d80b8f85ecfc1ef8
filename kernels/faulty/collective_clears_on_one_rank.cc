// On rank 1 it clears the output on a stream of its own for the call that comes next: where a rank that is not eligible
// sends all to stock, stock's result is lost there.
// Slot: collective.all_reduce. Caught by: collective.all_rank_selection. Source: rules.md.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static void clear(const void* memory, uint32_t, uint32_t) {
    const auto& a = *static_cast<const ReduceArguments*>(memory);
    for (int64_t row = 0; row < a.rows; ++row)
      for (int64_t column = 0; column < a.width; ++column) a.out.set(row, column, 0.0);
  }
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    if (const assay_status status = Right::enqueue(call, a); status != ASSAY_OK || call->group->rank != 1)
      return status;
    assay_host_stream* side = nullptr;
    if (call->host->stream_create(&side) != ASSAY_OK) return ASSAY_ERROR;
    const assay_status status = faulty::launch(call, side, clear, 1, a);
    call->host->stream_destroy(side);
    return status;
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
