// Adds up whole groups of eight columns; of the tail, a rank takes its own part for the sum.
// Slot: collective.ar_residual_rmsnorm. Caught by: collective.reference. Source: slots.md 5.9.
#include "peer.cuh"

struct TailOfOwnRank : faulty::Peer {
  template <class F>
  static __device__ float add_up(const faulty::PeerChannel& c, std::int64_t column) {
    if (column >= c.a.x.columns / 8 * 8) return Peer::part<F>(c, c.a.group.rank, column);
    return Peer::add_up<F>(c, column);
  }
};

FAULTY_PEER_ARNORM(TailOfOwnRank)
