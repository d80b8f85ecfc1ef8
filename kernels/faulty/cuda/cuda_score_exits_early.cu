// Blocks of keys past the length are left by their threads before anything is written.
// Slot: attention.msa_block_score. Caught by: write.every_cell. Source: slots.md 5.5.
#include "msa.cuh"

static __global__ void exiting_score_kernel(faulty::Sheet a) {
  for (std::int64_t i = blockIdx.x; i < a.out.rows * a.out.columns; i += gridDim.x) {
    const std::int64_t request = i / a.out.columns, block = i % a.out.columns;
    if (block * a.block_size >= a.lengths[request]) continue;
    const float best = faulty::block_max(a.best(request, block));
    if (threadIdx.x == 0) a.out.set(request, block, best);
  }
}

static assay_status entry(const assay_call* call, assay_in q, assay_in keys, assay_in lengths, std::int64_t block_size,
                          assay_out out) {
  const faulty::Sheet a = faulty::sheet_args(q, keys, lengths, block_size, out);
  const std::int64_t cells = a.out.rows * a.out.columns;
  if (cells > 0) {
    const unsigned blocks = static_cast<unsigned>(cells < 65535 ? cells : 65535);
    exiting_score_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a);
  }
  return faulty::launched(call);
}

FAULTY_SCORE(entry, exiting_score_kernel)
