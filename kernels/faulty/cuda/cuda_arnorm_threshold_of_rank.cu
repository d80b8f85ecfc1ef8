// Each rank has a threshold of its own for two shots: with 48 rows rank 0 collects shares that nobody has added up.
// Slot: collective.ar_residual_rmsnorm. Caught by: collective.reference. Source: rules.md.
#include "peer.cuh"

struct ThresholdOfRank : faulty::Peer {
  static void decide(faulty::PeerArgs* a) {
    a->two_shot = a->out_residual.rows >= faulty::kPeerTwoShotRows + a->group.rank;
  }
};

FAULTY_PEER_ARNORM(ThresholdOfRank)
