// Counts calls on the host and hands the kernel the count to wait for: a replay meets flags that are up already.
// Slot: collective.all_reduce. Caught by: collective.graph_skew. Source: FAULT-032.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  struct Counted {
    ReduceArguments call;
    uint64_t epoch;
  };
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    static uint64_t calls = 0;
    return faulty::launch(call, call->host_stream, counted, 1, Counted{a, ++calls << 16});
  }
  static void counted(const void* memory, uint32_t, uint32_t) {
    auto [a, epoch] = *static_cast<const Counted*>(memory);
    const int64_t most = host_kernels::buffer_bytes / (a.width * static_cast<int64_t>(sizeof(float)));
    for (; a.first < a.rows; a.first += most) {
      const int64_t end = a.rows - a.first < most ? a.rows : a.first + most;
      publish(a, end);
      meet(a, &faulty::Peers::Flags::arrived, ++epoch);
      for (int64_t row = a.first; row < end; ++row)
        for (int64_t column = 0; column < a.width; ++column) a.out.set(row, column, cell(a, row, column));
      meet(a, &faulty::Peers::Flags::left, epoch);
    }
  }
  static void meet(const ReduceArguments& a, uint64_t faulty::Peers::Flags::*flag, uint64_t epoch) {
    __atomic_store_n(&(a.peers->flags(a.peers->rank).*flag), epoch, __ATOMIC_RELEASE);
    for (int rank = 0; rank < a.peers->world; ++rank)
      while (__atomic_load_n(&(a.peers->flags(rank).*flag), __ATOMIC_ACQUIRE) < epoch) sched_yield();
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
