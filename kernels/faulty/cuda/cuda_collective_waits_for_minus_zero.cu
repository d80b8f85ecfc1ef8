// Takes -0 on a peer's wire for data that has not arrived, and waits for it.
// Slot: collective.all_reduce. Caught by: verdict.attribution. Source: blame:timeout.
#include "peer.cuh"

struct WaitsForMinusZero : faulty::Peer {
  template <class F>
  static __device__ float part(const faulty::PeerChannel& c, int rank, std::int64_t column) {
    const volatile float* const cell = &c.of(rank).wires[0][column];
    float value = *cell;
    for (; __float_as_uint(value) == 0x80000000u; value = *cell) __nanosleep(200);
    return value;
  }
};

FAULTY_PEER_ALL_REDUCE(WaitsForMinusZero)
