// attention.msa_prefill_block_score on the host model: each head and query block keeps its best blocks in a heap as
// they are scored, so that no row of scores is ever stored.
#include "kernels/host/dots.hpp"
#include "kernels/host/variants.hpp"

namespace host_kernels {
namespace {

struct Candidate {
  double score;
  int64_t block;
};

// Equal scores go to the lower block.
bool worse(const Candidate& a, const Candidate& b) {
  return a.score != b.score ? a.score < b.score : a.block > b.block;
}

// The best `places` of what was offered, the worst of them on top.
struct Heap {
  Candidate* items;
  int64_t places, count;

  void offer(Candidate candidate) {
    if (count < places) {
      int64_t at = count++;
      for (; at > 0 && worse(candidate, items[(at - 1) / 2]); at = (at - 1) / 2) items[at] = items[(at - 1) / 2];
      items[at] = candidate;
    } else if (places > 0 && worse(items[0], candidate)) {
      sink(candidate);
    }
  }
  void sink(Candidate candidate) {
    int64_t at = 0;
    for (int64_t child = 1; child < count; child = 2 * at + 1) {
      if (child + 1 < count && worse(items[child + 1], items[child])) ++child;
      if (!worse(items[child], candidate)) break;
      items[at] = items[child];
      at = child;
    }
    items[at] = candidate;
  }
};

struct Arguments {
  Rows q, keys, table, out;
  Integers table_rows, first_row, prefix, first_block;
  Candidate* scratch;  // topk a block of the launch
  int64_t heads, requests, query_blocks, width, block_q, block_k, topk, init, local;
  double scale;
};

template <class Cell>
double block_score(const Arguments& a, const Cell* query, int64_t table_row, int64_t first, int64_t last) {
  double best = -__builtin_inf();
  const auto* slots = a.table.at<const int32_t>(table_row);
  for (int64_t p = first; p <= last; ++p) {
    const Cell* key = a.keys.at<const Cell>(slots[p * a.table.step]);
    const double score = a.scale * dot(query, a.q.step, key, a.keys.step, a.width);
    if (score > best) best = score;
  }
  return best;
}

template <class Cell>
void select_row(const Arguments& a, int64_t head, int64_t query_block, Candidate* scratch) {
  int64_t b = 0;
  while (a.first_block[b + 1] <= query_block) ++b;
  const int64_t offset = (query_block - a.first_block[b]) * a.block_q, last = a.prefix[b] + offset;
  const Cell* query = a.q.at<const Cell>((a.first_row[b] + offset) * a.heads + head);
  const int64_t visible = last / a.block_k + 1;
  const int64_t init = a.init < visible ? a.init : visible;
  const int64_t local = visible - a.local > init ? visible - a.local : init;  // first of the last blocks
  const int64_t selected = a.topk < visible ? a.topk : visible;
  Heap heap{scratch, selected - init - (visible - local), 0};
  for (int64_t n = init; n < local && heap.places > 0; ++n) {
    const int64_t first = n * a.block_k, end = first + a.block_k - 1;
    heap.offer({block_score(a, query, a.table_rows[b], first, end < last ? end : last), n});
  }
  auto* const out = a.out.at<int32_t>(head * a.query_blocks + query_block);
  int64_t at = 0;
  const auto put = [&](int64_t id) { out[at++ * a.out.step] = static_cast<int32_t>(id); };
  for (int64_t n = 0; n < init; ++n) put(n);
  for (int64_t i = 0; i < heap.count; ++i) put(heap.items[i].block);
  for (int64_t n = local; n < visible; ++n) put(n);
  while (at < a.topk) put(-1);
}

template <class Cell>
void kernel(const void* memory, uint32_t block, uint32_t blocks) {
  const auto& a = *static_cast<const Arguments*>(memory);
  const RowRange range = rows_of_block(a.heads * a.query_blocks, block, blocks);
  for (int64_t row = range.begin; row < range.end; ++row)
    select_row<Cell>(a, row / a.query_blocks, row % a.query_blocks, a.scratch + block * a.topk);
}

uint32_t blocks_of_launch(const DLTensor* out) {
  const uint32_t blocks = blocks_for(row_count(out));
  return blocks < 64 ? blocks : 64;
}

assay_status run(const assay_call* call, assay_in q, assay_in index_k_cache, assay_in req_to_token, assay_in slot_ids,
                 assay_in cu_seqlens, assay_in seq_lens, assay_in prefix_lens, int64_t, int64_t, int64_t block_size_q,
                 int64_t block_size_k, int64_t topk, int64_t init_blocks, int64_t local_blocks, double scale,
                 assay_in cu_seqblocks_q, int64_t, int64_t all_seqblock_q, assay_out out_topk) {
  if (q->ndim != 3 || index_k_cache->ndim != 3 || index_k_cache->shape[1] != 1 || req_to_token->ndim != 2 ||
      index_k_cache->shape[2] != q->shape[2] || cu_seqlens->shape[0] != slot_ids->shape[0] + 1 ||
      cu_seqblocks_q->shape[0] != cu_seqlens->shape[0] || prefix_lens->shape[0] != slot_ids->shape[0] ||
      out_topk->ndim != 3 || out_topk->shape[0] != q->shape[1] || out_topk->shape[1] != all_seqblock_q ||
      out_topk->shape[2] != topk || block_size_q < 1 || block_size_k < 1 || init_blocks + local_blocks > topk)
    return fail(call, ASSAY_ERROR, "msa_prefill_block_score: shapes and scalars contradict each other");
  const DLTensor* const integers[] = {req_to_token, slot_ids,       cu_seqlens, seq_lens,
                                      prefix_lens,  cu_seqblocks_q, out_topk};
  for (const DLTensor* tensor : integers)
    if (!is_int32(tensor)) return fail(call, ASSAY_UNSUPPORTED, "msa_prefill_block_score: int32 metadata and ids");
  const assay_host_kernel kernels[] = {nullptr, kernel<float>, kernel<Half>, kernel<Bfloat>};
  const assay_host_kernel chosen = kernels[static_cast<int>(cells_of(q))];
  if (chosen == nullptr || cells_of(q) != cells_of(index_k_cache))
    return fail(call, ASSAY_UNSUPPORTED, "msa_prefill_block_score: fp32, fp16 or bf16 throughout");
  if (row_count(out_topk) == 0) return ASSAY_OK;
  const Arguments a = {rows_of(q),
                       rows_of(index_k_cache),
                       rows_of(req_to_token),
                       rows_of(out_topk),
                       integers_of(slot_ids),
                       integers_of(cu_seqlens),
                       integers_of(prefix_lens),
                       integers_of(cu_seqblocks_q),
                       static_cast<Candidate*>(call->workspace),
                       q->shape[1],
                       slot_ids->shape[0],
                       all_seqblock_q,
                       q->shape[2],
                       block_size_q,
                       block_size_k,
                       topk,
                       init_blocks,
                       local_blocks,
                       scale};
  return call->host->launch(call->host_stream, chosen, blocks_of_launch(out_topk), &a, sizeof a);
}

assay_status workspace(const assay_call*, const DLTensor* const* tensors, uint32_t count, size_t* bytes) {
  const DLTensor* out = tensors[count - 1];
  *bytes = static_cast<size_t>(blocks_of_launch(out) * out->shape[2]) * sizeof(Candidate);
  return ASSAY_OK;
}

constexpr assay_variant describe() {
  assay_variant variant = right_variant("attention.msa_prefill_block_score", "host.rows");
  variant.entry.msa_prefill_block_score = run;
  variant.workspace = workspace;
  return variant;
}

}  // namespace

constinit const assay_variant msa_prefill_block_score = describe();

}  // namespace host_kernels
