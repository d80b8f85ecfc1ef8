// The host counts the turns and hands them to the kernel: in a replay all flags say that the peers have been there, and
// their wires still hold what the last replay left.
// Slot: collective.ar_residual_rmsnorm. Caught by: graph.follows_inputs. Source: FAULT-032.
#include "peer.cuh"

struct TurnsAtCapture : faulty::Peer {
  static void decide(faulty::PeerArgs* a) {
    static unsigned long long turns = 0;
    Peer::decide(a);
    a->own = turns;
    turns +=
        static_cast<unsigned long long>((a->out_residual.rows + faulty::kPeerChannels - 1) / faulty::kPeerChannels);
  }
  static __device__ unsigned long long first_turn(const faulty::PeerArgs& a) { return a.own; }
  template <class F>
  static __device__ void publish(const faulty::PeerChannel& c) {
    if (c.a.group.rank == c.a.group.world - 1 && c.at_first_row()) faulty::pause(10);
    Peer::publish<F>(c);
  }
};

FAULTY_PEER_ARNORM(TurnsAtCapture)
