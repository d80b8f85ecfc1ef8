// Ends when its own rows are done, and the next call writes the one wire while a slow peer still reads it.
// Slot: collective.ar_residual_rmsnorm. Caught by: collective.skew. Source: FAULT-025.
#include "peer.cuh"

struct NoExitBarrier : faulty::Peer {
  static __device__ void before_reading(const faulty::PeerChannel& c) {
    if (c.a.group.rank == 0 && c.at_first_row()) faulty::pause(10);
  }
  static __device__ void leave(const faulty::PeerChannel&) { __syncthreads(); }
};

FAULTY_PEER_ARNORM(NoExitBarrier)
