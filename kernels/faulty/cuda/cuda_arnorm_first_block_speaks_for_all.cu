// The first block's flag says that the rank has arrived, while its other blocks are still writing their wires.
// Slot: collective.ar_residual_rmsnorm. Caught by: collective.reference. Source: rules.md.
#include "peer.cuh"

struct FirstBlockSpeaks : faulty::Peer {
  template <class F>
  static __device__ void publish(const faulty::PeerChannel& c) {
    if (c.index != 0 && c.a.group.rank != 0 && c.at_first_row()) faulty::pause(10);
    Peer::publish<F>(c);
  }
  // Channels count their own turns: the first one has seen at least as many.
  static __device__ void arrive(const faulty::PeerChannel& c) {
    c.signal(c.published());
    faulty::PeerChannel first = c;
    first.index = 0;
    first.await(c.published());
  }
};

FAULTY_PEER_ARNORM(FirstBlockSpeaks)
