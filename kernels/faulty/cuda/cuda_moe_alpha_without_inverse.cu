// The outer scale of NVFP4 weights is taken to be alpha alone, without the inverse activation scale.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 6.2.
#include "moe.cuh"

struct AlphaWithoutInverse : faulty::Moe {
  static __device__ float outer(const faulty::MoeMatrix& m, int expert) { return m.alphas[expert]; }
};

FAULTY_MOE(AlphaWithoutInverse, FAULTY_NVFP4)
