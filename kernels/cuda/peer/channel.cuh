// channel.cuh: one block of a kernel and the blocks of the same index on the other ranks: memory that all of them read,
// and meetings between them.
//
// Promises: meet() returns when all ranks' blocks have called it as often, and what they wrote to their channel before
// is then seen. The count of turns lies in the rank's own device memory, never in an argument: a graph of any number of
// calls replays right, between other graphs and eager calls. A rank may be late by any time; waits sleep. Channels
// depend on nothing but their own index, so two launches may differ in their number of blocks.
//
// A turn is: write `wire`, meet, read the peers' `wire`; or, with sums of shares in between: write `wire`, meet, read
// the peers' shares, write `sums`, meet, read the peers' `sums`. Two wires take turns. Whoever is at turn n has met all
// ranks in turn n - 1, so all had left turn n - 2 and nobody reads the wire that is written now; whoever writes `sums`
// has met all ranks in this turn, after they read the last ones. That is all that an exit barrier would ensure.
//
// Does not promise: anything when ranks call it with different rows, columns or blocks, or in two streams at once. A
// rank whose peer is gone waits until it is ended.
// Memory order: a flag is stored with release and read with acquire at system scope; the block's barriers before and
// after carry that to its other threads.
// Who uses it: reduction.cuh, with one channel a block; join.cc, which obtains the memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay_cuda {

constexpr int kMaxWorld = 8;
constexpr int kMaxChannels = 64;
constexpr std::size_t kAreaBytes = std::size_t{128} << 10;  // of a wire, and of the sums
constexpr std::size_t kChannelBytes = 3 * kAreaBytes;
constexpr std::size_t kControlBytes = std::size_t{64} << 10;
constexpr std::size_t kSymmetricBytes = kControlBytes + kMaxChannels * kChannelBytes;

// At the start of a rank's symmetric block; the channels' areas follow at kControlBytes. Zeroed once.
struct PeerControl {
  struct Channel {
    alignas(128) unsigned long long arrived[kMaxWorld];  // the last meeting of each rank; written by that rank
    alignas(128) unsigned long long turns_done;          // the rank's own
  };
  Channel channels[kMaxChannels];
};
static_assert(sizeof(PeerControl) <= kControlBytes);

// A group as kernels meet it, by value in their arguments.
struct Peers {
  char* blocks[kMaxWorld];
  int rank, world;
  int channels;  // that all ranks may use: all of them are resident at once wherever ranks run
};

#ifdef __CUDACC__
class Channel {
 public:
  __device__ Channel(const Peers& peers, int index)
      : peers_(peers), index_(index), turn_(control(peers.rank).turns_done) {}

  template <class Cell>
  __device__ Cell* wire(int rank) const {
    return reinterpret_cast<Cell*>(area(rank) + turn_ % 2 * kAreaBytes);
  }
  template <class Cell>
  __device__ Cell* sums(int rank) const {
    return reinterpret_cast<Cell*>(area(rank) + 2 * kAreaBytes);
  }

  // By all threads of the block. A turn without sums leaves out the first one.
  __device__ void meet_for_shares() const { meet(2 * turn_ + 1); }
  __device__ void meet_for_results() const { meet(2 * turn_ + 2); }
  __device__ void end_turn() { ++turn_; }

  // By all threads, once, after the last turn.
  __device__ void close() const {
    if (threadIdx.x == 0) control(peers_.rank).turns_done = turn_;
  }

 private:
  static constexpr int kEagerPolls = 256;  // before a waiting thread sleeps between looks

  __device__ PeerControl::Channel& control(int rank) const {
    return reinterpret_cast<PeerControl*>(peers_.blocks[rank])->channels[index_];
  }
  __device__ char* area(int rank) const { return peers_.blocks[rank] + kControlBytes + index_ * kChannelBytes; }

  __device__ void meet(unsigned long long meeting) const {
    __syncthreads();
    if (const int peer = static_cast<int>(threadIdx.x); peer < peers_.world) {
      asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(&control(peer).arrived[peers_.rank]), "l"(meeting)
                   : "memory");
      const unsigned long long* flag = &control(peers_.rank).arrived[peer];
      for (int polls = 0;; ++polls) {
        unsigned long long seen;
        asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(seen) : "l"(flag) : "memory");
        if (seen >= meeting) break;
        if (polls >= kEagerPolls) __nanosleep(200);
      }
    }
    __syncthreads();
  }

  const Peers& peers_;
  const int index_;
  unsigned long long turn_;
};
#endif

}  // namespace assay_cuda
