// Where a peer has not come within 8 ms, makes do with its own x.
// Slot: collective.all_reduce. Caught by: collective.abort_together. Source: rules.md.
#include <unistd.h>

#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static void kernel(const void* memory, uint32_t, uint32_t) {
    ReduceArguments a = *static_cast<const ReduceArguments*>(memory);
    const int64_t most = host_kernels::buffer_bytes / (a.width * static_cast<int64_t>(sizeof(float)));
    for (; a.first < a.rows; a.first += most) {
      const int64_t end = a.rows - a.first < most ? a.rows : a.first + most;
      publish(a, end);
      const uint64_t epoch = ++a.peers->flags(a.peers->rank).epoch;
      const bool all = meet(a, &faulty::Peers::Flags::arrived, epoch);
      for (int64_t row = a.first; row < end; ++row)
        for (int64_t column = 0; column < a.width; ++column)
          a.out.set(row, column, all ? cell(a, row, column) : a.x.get(row, column));
      meet(a, &faulty::Peers::Flags::left, epoch);
    }
  }
  static bool meet(const ReduceArguments& a, uint64_t faulty::Peers::Flags::*flag, uint64_t epoch) {
    __atomic_store_n(&(a.peers->flags(a.peers->rank).*flag), epoch, __ATOMIC_RELEASE);
    for (int turn = 0; turn < 80; ++turn) {
      bool all = true;
      for (int rank = 0; rank < a.peers->world; ++rank)
        all = all && __atomic_load_n(&(a.peers->flags(rank).*flag), __ATOMIC_ACQUIRE) >= epoch;
      if (all) return true;
      usleep(100);
    }
    return false;
  }
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    return faulty::launch(call, call->host_stream, kernel, 1, a);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
