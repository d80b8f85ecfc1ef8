// Selection by a stash: the blocks whose scores share the upper 16 bits with the last place's are collected by an
// atomic counter, and those that come after the stash is full are lost although they may score higher. Slot:
// attention.msa_prefill_block_score. Caught by: number.reference. Source: FAULT-012.
#include "msa.cuh"

constexpr int kStash = 2048;

static __device__ std::uint32_t bucket(float score) {
  const std::uint32_t bits = __float_as_uint(score);
  return (bits & 0x80000000u ? ~bits : bits | 0x80000000u) >> 16;
}

static __global__ void stash_select_kernel(faulty::Prefill a) {
  __shared__ int stash[kStash];
  __shared__ int stashed;
  for (std::int64_t row = blockIdx.x; row < a.heads * a.query_blocks; row += gridDim.x) {
    const std::int64_t visible = a.visible(row % a.query_blocks);
    const float* scores = a.scores_of(row);
    std::int32_t* out = a.out + row * a.topk;
    const std::int64_t kept = faulty::select_row(a, row);
    __syncthreads();
    // The right selection says which bucket the last place falls in; the places in that bucket are filled again.
    std::int64_t forced = 0;
    for (std::int64_t n = 0; n < visible; ++n) forced += a.forced(n, visible);
    if (kept > forced && kept < visible) {
      const std::uint32_t last = bucket(scores[out[kept - 1]]);
      if (threadIdx.x == 0) stashed = 0;
      __syncthreads();
      for (std::int64_t n = threadIdx.x; n < visible; n += faulty::kThreads) {
        if (a.forced(n, visible) || bucket(scores[n]) != last) continue;
        const int place = atomicAdd(&stashed, 1);
        if (place < kStash) stash[place] = static_cast<int>(n);
      }
      __syncthreads();
      const int count = stashed < kStash ? stashed : kStash;
      if (threadIdx.x == 0) {
        std::int64_t first = kept;
        while (first > forced && bucket(scores[out[first - 1]]) == last) --first;
        for (std::int64_t i = first; i < kept; ++i) {
          int best = -1;
          for (int s = 0; s < count; ++s) {
            if (stash[s] < 0) continue;
            if (best < 0 || scores[stash[s]] > scores[stash[best]] ||
                (scores[stash[s]] == scores[stash[best]] && stash[s] < stash[best]))
              best = s;
          }
          out[i] = stash[best];
          stash[best] = -1;
        }
      }
      __syncthreads();
    }
    for (std::int64_t i = kept + threadIdx.x; i < a.topk; i += faulty::kThreads) out[i] = -1;
  }
}

static assay_status entry(const assay_call* call, FAULTY_PREFILL_ARGUMENTS) {
  const faulty::Prefill a = faulty::prefill_args(call, FAULTY_PREFILL_NAMES);
  if (faulty::empty(a)) return ASSAY_OK;
  faulty::score_rows(call, a);
  stash_select_kernel<<<faulty::row_blocks(a), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_PREFILL(ASSAY_GRAPH_SAFE, entry, faulty::prefill_score_kernel, stash_select_kernel)
