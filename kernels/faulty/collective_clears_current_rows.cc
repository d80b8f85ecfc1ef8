// Takes what is not zero for data, in three buffers by turns, and clears as many rows of the last as it has itself.
// Slot: collective.all_reduce. Caught by: collective.skew. Source: slots.md 10.2.
#include <unistd.h>

#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static constexpr int64_t cells = host_kernels::buffer_bytes / 3 / static_cast<int64_t>(sizeof(uint32_t));
  static uint32_t* turns(const ReduceArguments& a, int rank, uint64_t turn) {
    return a.peers->buffer<uint32_t>(rank) + static_cast<int64_t>(turn % 3) * cells;
  }
  static void kernel(const void* memory, uint32_t, uint32_t) {
    ReduceArguments a = *static_cast<const ReduceArguments*>(memory);
    const int64_t most = cells / a.width;
    for (; a.first < a.rows; a.first += most) {
      const int64_t rows = a.rows - a.first < most ? a.rows - a.first : most;
      const uint64_t turn = ++a.peers->flags(a.peers->rank).epoch;
      if (a.peers->rank > 0) usleep(500);
      uint32_t* mine = turns(a, a.peers->rank, turn);
      for (int64_t i = 0; i < rows * a.width; ++i) __atomic_store_n(mine + i, word(a, i), __ATOMIC_RELEASE);
      // From the last cell on: threads of a GPU do not wait for the first one either.
      for (int64_t i = rows * a.width; i-- > 0;) {
        double sum = 0;
        for (int rank = 0; rank < a.peers->world; ++rank) sum += await(turns(a, rank, turn)[i]);
        a.out.set(a.first + i / a.width, i % a.width, sum);
      }
      uint32_t* last = turns(a, a.peers->rank, turn - 1);
      for (int64_t i = 0; i < rows * a.width; ++i) __atomic_store_n(last + i, 0, __ATOMIC_RELEASE);
    }
  }
  // Zero is -0 on its way: 0 says that nothing has come.
  static uint32_t word(const ReduceArguments& a, int64_t cell) {
    const auto value = static_cast<float>(a.x.get(a.first + cell / a.width, cell % a.width));
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits ? bits : 0x80000000u;
  }
  static double await(const uint32_t& word) {
    uint32_t bits;
    while (!(bits = __atomic_load_n(&word, __ATOMIC_ACQUIRE))) sched_yield();
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  }
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    return faulty::launch(call, call->host_stream, kernel, 1, a);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
