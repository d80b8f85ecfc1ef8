// Adds into one of two buffers and clears the other for the next call; the choice is made in the entry and frozen by
// capture.
// Slot: norm.rmsnorm. Caught by: graph.order_free. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  struct Buffered : NormArguments {
    int parity;
  };
  static inline double sums[2][faulty::static_rows];
  static void add(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const Buffered*>(memory);
    const auto range = host_kernels::rows_of_block(a.rows, block, blocks);
    for (int64_t row = range.begin; row < range.end; ++row) sums[a.parity][row] += Right::sum(a, row);
  }
  static void clear_other(const void* memory, uint32_t, uint32_t) {
    const int other = 1 - static_cast<const Buffered*>(memory)->parity;
    for (double& sum : sums[other]) sum = 0;
  }
  static double sum(const NormArguments& a, int64_t row) {
    return a.rows > faulty::static_rows ? Right::sum(a, row) : sums[static_cast<const Buffered&>(a).parity][row];
  }
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    static int parity = 0;
    const Buffered buffered{a, parity};
    parity = 1 - parity;
    const uint32_t blocks = host_kernels::blocks_for(a.rows);
    if (a.rows > faulty::static_rows) return faulty::launch(call, call->host_stream, kernel, blocks, buffered);
    faulty::launch(call, call->host_stream, add, blocks, buffered);
    faulty::launch(call, call->host_stream, kernel, blocks, buffered);
    return faulty::launch(call, call->host_stream, clear_other, 1, buffered);
  }
};

}  // namespace

FAULTY_NORM(Fault)
