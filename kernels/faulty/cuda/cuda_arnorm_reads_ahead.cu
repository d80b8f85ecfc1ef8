// Reads rank 0's wire ahead of the meeting and adds up what it had then.
// Slot: collective.ar_residual_rmsnorm. Caught by: collective.reference. Source: rules.md.
#include "peer.cuh"

struct ReadsAhead : faulty::Peer {
  template <class F>
  static __device__ void publish(const faulty::PeerChannel& c) {
    float* const ahead = c.of(c.a.group.rank).wires[1];
    const volatile float* const first = c.of(0).wires[0];
    for (std::int64_t i = threadIdx.x; i < c.a.x.columns; i += faulty::kThreads) ahead[i] = first[i];
    if (c.a.group.rank == 0 && c.at_first_row()) faulty::pause(10);
    Peer::publish<F>(c);
  }
  template <class F>
  static __device__ float part(const faulty::PeerChannel& c, int rank, std::int64_t column) {
    if (rank == 0 && c.a.group.rank != 0) return c.of(c.a.group.rank).wires[1][column];
    return Peer::part<F>(c, rank, column);
  }
};

FAULTY_PEER_ARNORM(ReadsAhead)
