// Pairs are ranked inside their expert by blocks of 256 pairs, and the count of the earlier blocks is left out, so that
// later pairs take the places of earlier ones.
// Slot: moe.fused_experts. Caught by: number.reference. Source: FAULT-016.
#include "moe.cuh"

struct BlockHistogram : faulty::Moe {
  static __device__ int carried(int) { return 0; }
};

FAULTY_MOE(BlockHistogram, nullptr)
