// msa.cuh: the right parts of wrong block-score kernels. Each fault takes what it does not break from here.
//
// Promises: naive and right for fp32, fp16 and bf16; one block of kThreads threads a cell of the sheet or a row of the
// selection. Contains no fault.
// Who uses it: the score and prefill files beside it, one fault a file, each a library of its own.
//
//   static assay_status entry(const assay_call* call, FAULTY_PREFILL_ARGUMENTS) {
//     const faulty::Prefill a = faulty::prefill_args(call, FAULTY_PREFILL_NAMES);
//     faulty::score_rows(call, a);
//     ... launch the selection ...
//   }
//   FAULTY_PREFILL(entry, faulty::prefill_score_kernel, select_kernel)
#pragma once

#include "attention.cuh"

namespace faulty {

struct Sheet {
  Rows q, keys, out;
  const std::int32_t* lengths;
  std::int64_t heads, tokens, block_size, dim;

  // The best key of the block among this thread's, -inf if it sees none.
  __device__ float best(std::int64_t request, std::int64_t block) const {
    float top = -INFINITY;
    for (std::int64_t i = threadIdx.x; i < block_size; i += kThreads) {
      const std::int64_t token = block * block_size + i;
      if (token >= lengths[request]) break;
      float score = 0.0f;
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t c = 0; c < dim; ++c)
          score = fmaf(q.get((request * heads + h) * dim + c), keys.get((request * tokens + token) * dim + c), score);
      }
      top = fmaxf(top, score);
    }
    return top;
  }
};
inline Sheet sheet_args(assay_in q, assay_in keys, assay_in lengths, std::int64_t block_size, assay_out out) {
  return {rows_of(*q), rows_of(*keys), rows_of(*out), static_cast<const std::int32_t*>(lengths->data),
          q->shape[1], keys->shape[1], block_size,    q->shape[2]};
}

struct Prefill {
  Rows q, cache;
  const std::int32_t *table, *slots, *queries_before, *prefixes, *blocks_before;
  std::int32_t* out;
  float* scores;  // (heads, query blocks, width)
  std::int64_t batch, heads, query_blocks, topk, dim, capacity, block_size_q, block_size_k, init_blocks, local_blocks;
  std::int64_t width;

  __device__ std::int64_t request_of(std::int64_t query_block) const {
    std::int64_t b = 0;
    while (blocks_before[b + 1] <= query_block) ++b;
    return b;
  }
  // The last position that a query block sees.
  __device__ std::int64_t position(std::int64_t query_block) const {
    const std::int64_t b = request_of(query_block);
    return prefixes[b] + (query_block - blocks_before[b]) * block_size_q;
  }
  __device__ std::int64_t visible(std::int64_t query_block) const { return position(query_block) / block_size_k + 1; }
  __device__ bool forced(std::int64_t block, std::int64_t visible) const {
    return block < init_blocks || block >= visible - local_blocks;
  }
  // Output rows, and rows of scores: head * query_blocks + query block.
  __device__ const float* scores_of(std::int64_t row) const { return scores + row * width; }
};

inline Prefill prefill_args(const assay_call* call, assay_in q, assay_in cache, assay_in table, assay_in slots,
                            assay_in queries_before, assay_in prefixes, std::int64_t block_size_q,
                            std::int64_t block_size_k, std::int64_t init_blocks, std::int64_t local_blocks,
                            assay_in blocks_before, assay_out out) {
  const auto ints = [](assay_in t) { return static_cast<const std::int32_t*>(t->data); };
  return {rows_of(*q),
          rows_of(*cache),
          ints(table),
          ints(slots),
          ints(queries_before),
          ints(prefixes),
          ints(blocks_before),
          static_cast<std::int32_t*>(out->data),
          static_cast<float*>(call->workspace),
          slots->shape[0],
          out->shape[0],
          out->shape[1],
          out->shape[2],
          q->shape[2],
          table->shape[1],
          block_size_q,
          block_size_k,
          init_blocks,
          local_blocks,
          (table->shape[1] + block_size_k - 1) / block_size_k};
}

inline assay_status prefill_workspace(const assay_call*, const DLTensor* const* tensors, std::uint32_t count,
                                      std::size_t* bytes) {
  const std::int64_t* out = tensors[count - 1]->shape;
  *bytes = sizeof(float) * static_cast<std::size_t>(out[0] * out[1] * tensors[2]->shape[1]);
  return ASSAY_OK;
}

__global__ void prefill_score_kernel(Prefill a) {
  const std::int64_t cells = a.heads * a.query_blocks * a.width;
  for (std::int64_t i = blockIdx.x; i < cells; i += gridDim.x) {
    const std::int64_t row = i / a.width, block = i % a.width, head = row / a.query_blocks, j = row % a.query_blocks;
    const std::int64_t b = a.request_of(j), position = a.position(j);
    const std::int64_t query = a.queries_before[b] + (j - a.blocks_before[b]) * a.block_size_q;
    float top = -INFINITY;
    for (std::int64_t k = threadIdx.x; k < a.block_size_k && block * a.block_size_k + k <= position; k += kThreads) {
      const std::int64_t slot = a.table[a.slots[b] * a.capacity + block * a.block_size_k + k];
      float score = 0.0f;
      for (std::int64_t c = 0; c < a.dim; ++c)
        score = fmaf(a.q.get((query * a.heads + head) * a.dim + c), a.cache.get(slot * a.dim + c), score);
      top = fmaxf(top, score);
    }
    top = block_max(top);
    if (threadIdx.x == 0) a.scores[i] = top;
  }
}

inline bool empty(const Prefill& a) { return a.heads * a.query_blocks * a.topk == 0; }
inline unsigned row_blocks(const Prefill& a) {
  const std::int64_t rows = a.heads * a.query_blocks;
  return static_cast<unsigned>(rows < 65535 ? rows : 65535);
}
inline void score_rows(const assay_call* call, const Prefill& a) {
  const std::int64_t cells = a.heads * a.query_blocks * a.width;
  prefill_score_kernel<<<static_cast<unsigned>(cells < 65535 ? cells : 65535), kThreads, 0, call->cuda_stream>>>(a);
}

// The index of the highest score among blocks [begin, end) that `counts` lets through, the lowest of equal ones; -1 if
// there is none. All threads get it.
template <class Counts>
__device__ std::int64_t highest(const float* scores, std::int64_t begin, std::int64_t end, Counts counts) {
  __shared__ std::int64_t winner;
  float mine = -INFINITY;
  std::int64_t at = -1;
  for (std::int64_t n = begin + threadIdx.x; n < end; n += kThreads) {
    if (counts(n) && (at < 0 || scores[n] > mine)) {
      mine = scores[n];
      at = n;
    }
  }
  const float top = block_max(at < 0 ? -INFINITY : mine);
  // Indices are exact in fp32 below 2^24.
  const float lowest = -block_max(at >= 0 && mine == top ? -static_cast<float>(at) : -INFINITY);
  if (threadIdx.x == 0) winner = lowest < INFINITY ? static_cast<std::int64_t>(lowest) : -1;
  __syncthreads();
  const std::int64_t index = winner;
  __syncthreads();
  return index;
}

// Writes the right selection of one row; returns how many it is.
__device__ inline std::int64_t select_row(const Prefill& a, std::int64_t row) {
  const std::int64_t visible = a.visible(row % a.query_blocks), kept = visible < a.topk ? visible : a.topk;
  std::int32_t* out = a.out + row * a.topk;
  std::int64_t taken = 0;
  for (std::int64_t n = 0; n < visible; ++n) {
    if (!a.forced(n, visible)) continue;
    if (threadIdx.x == 0) out[taken] = static_cast<std::int32_t>(n);
    ++taken;
  }
  const float* scores = a.scores_of(row);
  float above = INFINITY;  // the last one taken: the rest lie below it, or beside it at a higher index
  std::int64_t last = -1;
  for (; taken < kept; ++taken) {
    last = highest(scores, 0, visible, [&](std::int64_t n) {
      return !a.forced(n, visible) && (scores[n] < above || (scores[n] == above && n > last));
    });
    above = scores[last];
    if (threadIdx.x == 0) out[taken] = static_cast<std::int32_t>(last);
  }
  return kept;
}

}  // namespace faulty

// The arguments of the prefill entry behind its call, and those of prefill_args.
#define FAULTY_PREFILL_ARGUMENTS                                                                                       \
  assay_in q, assay_in cache, assay_in table, assay_in slots, assay_in queries_before, assay_in, assay_in prefixes,    \
      std::int64_t, std::int64_t, std::int64_t block_size_q, std::int64_t block_size_k, std::int64_t,                  \
      std::int64_t init_blocks, std::int64_t local_blocks, double, assay_in blocks_before, std::int64_t, std::int64_t, \
      assay_out out
#define FAULTY_PREFILL_NAMES                                                                               \
  q, cache, table, slots, queries_before, prefixes, block_size_q, block_size_k, init_blocks, local_blocks, \
      blocks_before, out

#define FAULTY_SCORE(function, ...)                                                                              \
  FAULTY_LIBRARY(msa_block_score, "attention.msa_block_score", ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC, function, \
                 __VA_ARGS__)
#define FAULTY_PREFILL(flags, function, ...)                                                            \
  FAULTY_SCRATCH_LIBRARY(msa_prefill_block_score, "attention.msa_prefill_block_score", flags, function, \
                         faulty::prefill_workspace, __VA_ARGS__)
