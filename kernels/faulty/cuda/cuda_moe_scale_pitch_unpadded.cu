// The block scales of an expert are looked for behind rows * columns scales an expert, where they are stored padded to
// 128 rows and 4 columns: every expert but the first reads another place's scales.
// Slot: moe.fused_experts. Caught by: number.reference. Source: FAULT-018.
#include "moe.cuh"

struct ScalePitchUnpadded : faulty::Moe {
  static __device__ std::int64_t scales_start(const faulty::MoeMatrix& m, int expert) {
    return expert * m.rows * (m.columns / 16);
  }
};

FAULTY_MOE(ScalePitchUnpadded, FAULTY_NVFP4)
