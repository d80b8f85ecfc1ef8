// Sorted pairs are worked on in tiles of 16, and all of a tile meets the weights of its first pair's expert.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 5.7.
#include "moe.cuh"

struct TileExpert : faulty::Moe {
  static __device__ int expert_of(const faulty::MoeArgs& a, int position) { return a.ids[a.order[position / 16 * 16]]; }
};

FAULTY_MOE(TileExpert, nullptr)
