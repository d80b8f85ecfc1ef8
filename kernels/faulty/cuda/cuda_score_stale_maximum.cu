// A few blocks of threads walk over all cells, and the maximum in shared memory is cleared before the first one only:
// later cells keep the best key of earlier ones.
// Slot: attention.msa_block_score. Caught by: number.reference. Source: rules.md.
#include "msa.cuh"

constexpr unsigned kBlocks = 4;

static __global__ void stale_score_kernel(faulty::Sheet a) {
  __shared__ float top;
  if (threadIdx.x == 0) top = -INFINITY;
  for (std::int64_t i = blockIdx.x; i < a.out.rows * a.out.columns; i += gridDim.x) {
    const float best = faulty::block_max(a.best(i / a.out.columns, i % a.out.columns));
    if (threadIdx.x == 0) {
      top = fmaxf(top, best);
      a.out.set(i / a.out.columns, i % a.out.columns, top);
    }
  }
}

static assay_status entry(const assay_call* call, assay_in q, assay_in keys, assay_in lengths, std::int64_t block_size,
                          assay_out out) {
  const faulty::Sheet a = faulty::sheet_args(q, keys, lengths, block_size, out);
  if (a.out.rows * a.out.columns > 0) stale_score_kernel<<<kBlocks, faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_SCORE(entry, stale_score_kernel)
