// Hands the scales from its first to its last kernel through static memory, which calls on other streams share.
// Slot: norm.rmsnorm. Caught by: stream.concurrent. Source: rules.md.
#include <unistd.h>

#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static inline double scales[faulty::static_rows];
  static void find_scales(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const NormArguments*>(memory);
    const auto range = host_kernels::rows_of_block(a.rows, block, blocks);
    for (int64_t row = range.begin; row < range.end; ++row) scales[row] = Right::scale(a, row);
  }
  // Stands for the work that a longer kernel would do between the two, so that two streams really overlap.
  static void wait_a_millisecond(const void*, uint32_t, uint32_t) { usleep(1000); }
  static double scale(const NormArguments& a, int64_t row) {
    return a.rows > faulty::static_rows ? Right::scale(a, row) : scales[row];
  }
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    if (a.rows <= faulty::static_rows) {
      faulty::launch(call, call->host_stream, find_scales, host_kernels::blocks_for(a.rows), a);
      faulty::launch(call, call->host_stream, wait_a_millisecond, 1, 0);
    }
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_NORM(Fault)
