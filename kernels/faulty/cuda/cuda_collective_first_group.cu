// Keeps the peers of its first call: a call of another group reaches into the memory of the first one.
// Slot: collective.all_reduce. Caught by: collective.group_only. Source: rules.md.
#include "peer.cuh"

struct FirstGroup : faulty::Peer {
  static void decide(faulty::PeerArgs* a) {
    static const faulty::PeerGroup first = a->group;
    a->group = first;
    Peer::decide(a);
  }
};

FAULTY_PEER_ALL_REDUCE(FirstGroup)
