// The selection writes its ids only, and the padding of -1 is written beforehand, but not under capture: replays leave
// the cells behind the ids as they were.
// Slot: attention.msa_prefill_block_score. Caught by: graph.replay_rewrites. Source: rules.md.
#include "msa.cuh"

static __global__ void select_kernel(faulty::Prefill a) {
  for (std::int64_t row = blockIdx.x; row < a.heads * a.query_blocks; row += gridDim.x) faulty::select_row(a, row);
}

static assay_status entry(const assay_call* call, FAULTY_PREFILL_ARGUMENTS) {
  const faulty::Prefill a = faulty::prefill_args(call, FAULTY_PREFILL_NAMES);
  if (faulty::empty(a)) return ASSAY_OK;
  if (!faulty::capturing(call))
    cudaMemsetAsync(a.out, 0xff, sizeof(std::int32_t) * a.heads * a.query_blocks * a.topk, call->cuda_stream);
  faulty::score_rows(call, a);
  select_kernel<<<faulty::row_blocks(a), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_PREFILL(ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC, entry, faulty::prefill_score_kernel, select_kernel)
