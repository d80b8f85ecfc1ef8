// Every rank adds the residual to its part: it counts as often as there are ranks.
// Slot: collective.ar_residual_rmsnorm. Caught by: number.reference. Source: FAULT-020.
#include "peer.cuh"

struct ResidualPerRank : faulty::Peer {
  static __device__ float own_part(const faulty::PeerArgs& a, std::int64_t row, std::int64_t column) {
    return a.x.cell(row, column) + a.residual.cell(row, column);
  }
  static __device__ float with_residual(const faulty::PeerArgs&, float sum, std::int64_t, std::int64_t) { return sum; }
};

FAULTY_PEER_ARNORM(ResidualPerRank)
