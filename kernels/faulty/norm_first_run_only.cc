// A launch writes in its first run and in no later replay.
// Slot: norm.rmsnorm. Caught by: graph.replay_rewrites. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static inline faulty::Tickets tickets;
  static void counted(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const faulty::Ticketed<NormArguments>*>(memory);
    if (tickets.run_of(a.ticket, blocks) == 0) kernel(memory, block, blocks);
  }

  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    const faulty::Ticketed<NormArguments> ticketed{a, tickets.issue()};
    return faulty::launch(call, call->host_stream, counted, host_kernels::blocks_for(a.rows), ticketed);
  }
};

}  // namespace

FAULTY_NORM(Fault)
