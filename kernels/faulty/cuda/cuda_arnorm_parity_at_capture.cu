// Two wires in turns in place of an exit barrier, but the host picks the wire: all replays of a call use the same one.
// Slot: collective.ar_residual_rmsnorm. Caught by: collective.graph_skew. Source: FAULT-025.
#include "peer.cuh"

struct ParityAtCapture : faulty::Peer {
  static void decide(faulty::PeerArgs* a) {
    static unsigned long long calls = 0;
    Peer::decide(a);
    a->own = calls++;
  }
  static __device__ int wire_of(const faulty::PeerChannel& c) { return static_cast<int>(c.a.own % 2); }
  static __device__ void before_reading(const faulty::PeerChannel& c) {
    if (c.a.group.rank == 0 && c.at_first_row()) faulty::pause(10);
  }
  // The next row of the same call takes the same wire.
  static __device__ void leave(const faulty::PeerChannel& c) {
    if (c.row + gridDim.x < c.a.out_residual.rows) return Peer::leave(c);
    __syncthreads();
  }
};

FAULTY_PEER_ARNORM(ParityAtCapture)
