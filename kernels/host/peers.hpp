// peers.hpp: the ranks of a group as a kernel meets them: a buffer of each in symmetric memory, and flags between them.
//
// Promises: arrive() returns when all ranks have published their buffers, leave() when all have read them. The epoch
// is kept in the memory itself, never in an argument: a graph replays it right. Waits give way to other ranks, which
// may share a core. A rank whose peer is gone waits until it is ended.
// Memory order: flags are stored with release and read with acquire; what was written before arrive() is seen after it.
// Who uses it: the one-shot kernels of this folder, launched as one block.
#pragma once

#include <sched.h>
#include <stdlib.h>

#include "assay/abi.h"

namespace host_kernels {

constexpr int max_peers = 16;
constexpr int64_t buffer_bytes = 1 << 20;

struct Peers {
  // At the start of a rank's symmetric block; the buffer follows.
  struct Flags {
    uint64_t epoch;                      // its own count of meetings
    alignas(64) uint64_t arrived, left;  // the last epoch in which it did
  };
  static constexpr int64_t flag_bytes = 256;
  static_assert(sizeof(Flags) <= flag_bytes);

  int32_t rank, world;
  void* blocks[max_peers];

  [[nodiscard]] Flags& flags(int of) const { return *static_cast<Flags*>(blocks[of]); }
  template <class Cell>
  [[nodiscard]] Cell* buffer(int of) const {
    return reinterpret_cast<Cell*>(static_cast<char*>(blocks[of]) + flag_bytes);
  }

  void arrive() const {
    const uint64_t epoch = ++flags(rank).epoch;
    __atomic_store_n(&flags(rank).arrived, epoch, __ATOMIC_RELEASE);
    for (int of = 0; of < world; ++of) await(flags(of).arrived, epoch);
  }
  void leave() const {
    const uint64_t epoch = flags(rank).epoch;
    __atomic_store_n(&flags(rank).left, epoch, __ATOMIC_RELEASE);
    for (int of = 0; of < world; ++of) await(flags(of).left, epoch);
  }

 private:
  static void await(const uint64_t& flag, uint64_t epoch) {
    while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) < epoch) sched_yield();
  }
};

inline assay_status join_peers(const assay_call* call, void** state) {
  const assay_group* group = call->group;
  if (group == nullptr || group->world_size > max_peers) return ASSAY_UNSUPPORTED;
  auto* peers = static_cast<Peers*>(calloc(1, sizeof(Peers)));
  if (peers == nullptr) return ASSAY_ERROR;
  peers->rank = group->rank;
  peers->world = group->world_size;
  const assay_status status =
      group->api->symmetric(group, static_cast<size_t>(Peers::flag_bytes + buffer_bytes), peers->blocks);
  if (status != ASSAY_OK) {
    free(peers);
    return status;
  }
  *state = peers;
  return ASSAY_OK;
}

inline assay_status part_peers(void* state) {
  free(state);
  return ASSAY_OK;
}

}  // namespace host_kernels
