// Right in the first replay, a quarter too large from the second on.
// Slot: norm.rmsnorm. Caught by: graph.order_free. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static inline faulty::Tickets tickets;
  static void counted(const void* memory, uint32_t block, uint32_t blocks) {
    auto a = *static_cast<const faulty::Ticketed<NormArguments>*>(memory);
    const double factor = tickets.run_of(a.ticket, blocks) == 0 ? 1.0 : 1.25;
    const auto range = host_kernels::rows_of_block(a.rows, block, blocks);
    for (int64_t row = range.begin; row < range.end; ++row) {
      const double scaled = factor * scale(a, row);
      for (int64_t column = 0; column < a.width; ++column) a.out.set(row, column, cell(a, row, column, scaled));
    }
  }

  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    const faulty::Ticketed<NormArguments> ticketed{a, tickets.issue()};
    return faulty::launch(call, call->host_stream, counted, host_kernels::blocks_for(a.rows), ticketed);
  }
};

}  // namespace

FAULTY_NORM(Fault)
