// Waits until a peer's flag equals the meeting: a peer that is one meeting further is never seen.
// Slot: collective.ar_residual_rmsnorm. Caught by: verdict.attribution. Source: blame:timeout.
#include "peer.cuh"

struct WaitsForOneValue : faulty::Peer {
  static __device__ void arrive(const faulty::PeerChannel& c) {
    c.signal(c.published());
    if (c.a.group.rank == 0 && c.at_first_row()) faulty::pause(10);
    const int peer = static_cast<int>(threadIdx.x);
    if (peer < c.a.group.world) {
      while (faulty::load_flag(&c.of(c.a.group.rank).arrived[peer]) != c.published()) __nanosleep(200);
    }
    __syncthreads();
  }
};

FAULTY_PEER_ARNORM(WaitsForOneValue)
