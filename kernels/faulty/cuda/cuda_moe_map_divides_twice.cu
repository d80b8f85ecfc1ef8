// A pair's token is divided by the count of places twice: token indices where expanded ones are expected.
// Slot: moe.fused_experts. Caught by: number.reference. Source: FAULT-029.
#include "moe.cuh"

struct MapDividesTwice : faulty::Moe {
  static __device__ int token_of(const faulty::MoeArgs& a, int pair) { return pair / a.top_k / a.top_k; }
};

FAULTY_MOE(MapDividesTwice, nullptr)
