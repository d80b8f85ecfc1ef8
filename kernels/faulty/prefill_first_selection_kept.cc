// A launch keeps the selection of its first run for all its replays.
// Slot: attention.msa_prefill_block_score. Caught by: graph.follows_inputs. Source: slots.md 14.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static constexpr uint64_t slots = 16;
  static constexpr int64_t most_cells = 65536;  // larger calls are computed anew
  static inline int32_t answers[slots][most_cells];
  static inline faulty::Tickets tickets;
  static void counted(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const faulty::Ticketed<PrefillArguments>*>(memory);
    const bool small = a.heads * a.query_blocks * a.topk <= most_cells;
    const bool kept = tickets.run_of(a.ticket, blocks) > 0 && small;
    if (!kept) kernel(memory, block, blocks);
    const auto range = host_kernels::rows_of_block(a.heads * a.query_blocks, block, blocks);
    for (int64_t cell = range.begin * a.topk; cell < range.end * a.topk && small; ++cell) {
      int32_t& answer = answers[a.ticket % slots][cell];
      if (kept) a.out[cell] = answer;
      answer = a.out[cell];
    }
  }
  static assay_status enqueue(const assay_call* call, const PrefillArguments& a) {
    const faulty::Ticketed<PrefillArguments> ticketed{a, tickets.issue()};
    return faulty::launch(call, call->host_stream, counted, launch_blocks(a.heads * a.query_blocks), ticketed);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
