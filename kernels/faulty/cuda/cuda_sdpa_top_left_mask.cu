// The causal mask begins at the first key, although the queries are the tail of the keys.
// Slot: attention.sdpa. Caught by: number.reference. Source: FAULT-006.
#include "attention.cuh"

struct TopLeft : faulty::RightSdpa {
  static __device__ std::int64_t end(const faulty::Sdpa&, std::int64_t t) { return t + 1; }
};

static assay_status entry(const assay_call* call, FAULTY_SDPA_ARGUMENTS) {
  return faulty::run_sdpa<TopLeft>(call, faulty::sdpa_args(q, k, v, out, sm_scale, causal));
}

FAULTY_SDPA(entry, faulty::sdpa_kernel<TopLeft>)
