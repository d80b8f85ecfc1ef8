// A place that repeats an expert of its token is skipped, and its row of scratch, which nobody wrote, is summed.
// Slot: moe.fused_experts. Caught by: number.reference. Source: FAULT-015.
#include "moe.cuh"

struct SumsUnwrittenSlots : faulty::Moe {
  static __device__ bool skips(const faulty::MoeArgs& a, int pair) {
    for (int earlier = pair / a.top_k * a.top_k; earlier < pair; ++earlier)
      if (a.ids[earlier] == a.ids[pair]) return true;
    return false;
  }
};

FAULTY_MOE(SumsUnwrittenSlots, nullptr)
