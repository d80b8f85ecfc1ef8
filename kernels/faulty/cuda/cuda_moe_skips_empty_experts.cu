// The table of experts holds those with tokens only, so that experts behind an empty one use the wrong weights.
// Slot: moe.fused_experts. Caught by: number.reference. Source: FAULT-017.
#include "moe.cuh"

struct SkipsEmptyExperts : faulty::Moe {
  static __device__ int expert_of(const faulty::MoeArgs& a, int position) {
    const int expert = a.ids[a.order[position]];
    int rank = 0;
    for (int i = 0; i < expert; ++i) rank += a.counts[i] > 0 ? 1 : 0;
    return rank;
  }
};

FAULTY_MOE(SkipsEmptyExperts, nullptr)
