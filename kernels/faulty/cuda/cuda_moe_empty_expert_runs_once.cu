// The loop over an expert's rows asks for the end after the first row: an expert without tokens overwrites the first
// row of the next expert with its own answer.
// Slot: moe.fused_experts. Caught by: number.reference. Source: FAULT-017.
#include "moe.cuh"

// One block an expert; of empty experts that lie together the first one alone, so that no two write one row.
template <class F>
static __global__ void empty_experts_kernel(faulty::MoeArgs a) {
  const int expert = blockIdx.x;
  if (a.counts[expert] > 0 || (expert > 0 && a.counts[expert - 1] == 0) || a.begins[expert] >= a.pairs) return;
  faulty::moe_row<F>(a, a.begins[expert], expert);
}

struct EmptyExpertRunsOnce : faulty::Moe {
  template <class F>
  static assay_status run(const assay_call* call, faulty::MoeArgs a) {
    faulty::moe_route<F>(call, a);
    faulty::moe_rows_kernel<F><<<a.pairs, faulty::kThreads, 0, call->cuda_stream>>>(a);
    empty_experts_kernel<F><<<static_cast<unsigned>(a.layer.experts), faulty::kThreads, 0, call->cuda_stream>>>(a);
    return faulty::moe_combine<F>(call, a);
  }
};

FAULTY_MOE_WITH(EmptyExpertRunsOnce, nullptr, empty_experts_kernel<EmptyExpertRunsOnce>)
