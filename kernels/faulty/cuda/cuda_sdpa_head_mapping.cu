// The head that a block serves comes from the group size, once as modulus and once as stride, where the number of key/
// value heads belongs: right only where both are equal. Elsewhere some heads are served twice and others never.
// Slot: attention.sdpa. Caught by: write.every_cell. Source: FAULT-005.
#include "attention.cuh"

struct Mapped : faulty::RightSdpa {
  static __device__ std::int64_t head(const faulty::Sdpa& a, std::int64_t block) {
    const std::int64_t group = a.q_heads / a.kv_heads;
    return block % group * group + block / group;
  }
};

static assay_status entry(const assay_call* call, FAULTY_SDPA_ARGUMENTS) {
  return faulty::run_sdpa<Mapped>(call, faulty::sdpa_args(q, k, v, out, sm_scale, causal));
}

FAULTY_SDPA(entry, faulty::sdpa_kernel<Mapped>)
