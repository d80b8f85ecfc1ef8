// Right only if the launch that ran before it was itself or the one before it: wrong in a first replay after other
// work.
// Slot: activation.silu_and_mul. Caught by: graph.cold_first. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static inline faulty::Tickets tickets;
  static inline uint64_t last_run = 0;
  static double cell(const SiluArguments& a, int64_t row, int64_t column) {
    const uint64_t ticket = static_cast<const faulty::Ticketed<SiluArguments>&>(a).ticket;
    const bool warm = last_run == ticket || last_run + 1 == ticket;
    return warm ? Right::cell(a, row, column) : a.x.get(row, a.width + column);
  }
  static void remember(const void* memory, uint32_t, uint32_t) {
    last_run = static_cast<const faulty::Ticketed<SiluArguments>*>(memory)->ticket;
  }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    const faulty::Ticketed<SiluArguments> ticketed{a, tickets.issue()};
    faulty::launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.rows), ticketed);
    return faulty::launch(call, call->host_stream, remember, 1, ticketed);
  }
};

}  // namespace

FAULTY_SILU(Fault)
