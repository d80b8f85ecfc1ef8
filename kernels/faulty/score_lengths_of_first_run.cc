// A launch keeps the lengths of its first run for all its replays.
// Slot: attention.msa_block_score. Caught by: graph.follows_inputs. Source: FAULT-031.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static constexpr uint64_t slots = 16;
  static inline int32_t kept[slots][4096];
  static inline faulty::Tickets tickets;
  static void counted(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const faulty::Ticketed<ScoreArguments>*>(memory);
    const bool first = tickets.run_of(a.ticket, blocks) == 0;
    const auto range = host_kernels::rows_of_block(a.batch, block, blocks);
    ScoreArguments baked = a;
    baked.lengths = kept[a.ticket % slots];
    for (int64_t b = range.begin; b < range.end; ++b) {
      if (first) kept[a.ticket % slots][b] = a.lengths[b];
      Right::row(baked, b);
    }
  }
  static assay_status enqueue(const assay_call* call, const ScoreArguments& a) {
    const faulty::Ticketed<ScoreArguments> ticketed{a, tickets.issue()};
    return faulty::launch(call, call->host_stream, counted, host_kernels::blocks_for(a.batch), ticketed);
  }
};

}  // namespace

FAULTY_SCORE(Fault)
