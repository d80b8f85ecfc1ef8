// Each rank has a threshold of its own for two shots: from 48 rows on rank 0 collects shares that nobody has added up,
// and with 8 rows more for every rank the last one joins it.
// Slot: collective.ar_residual_rmsnorm. Caught by: collective.modes. Source: rules.md.
#include "peer.cuh"

struct ThresholdOfRank : faulty::Peer {
  static void decide(faulty::PeerArgs* a) {
    a->two_shot = a->out_residual.rows >= faulty::kPeerTwoShotRows + 8 * a->group.rank;
  }
};

FAULTY_PEER_ARNORM(ThresholdOfRank)
