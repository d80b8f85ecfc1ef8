// Stores its flag ahead of the data that the flag speaks for.
// Slot: collective.ar_residual_rmsnorm. Caught by: collective.reference. Source: rules.md.
#include "peer.cuh"

struct FlagBeforeData : faulty::Peer {
  template <class F>
  static __device__ void publish(const faulty::PeerChannel& c) {
    c.signal(c.published());
    if (c.a.group.rank != 0 && c.at_first_row()) faulty::pause(10);
    Peer::publish<F>(c);
  }
  static __device__ void arrive(const faulty::PeerChannel& c) { c.await(c.published()); }
};

FAULTY_PEER_ARNORM(FlagBeforeData)
