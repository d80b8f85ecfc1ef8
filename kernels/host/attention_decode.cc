// attention.decode on the host model, keys split: each split of a request's selection leaves a maximum, a sum and
// weighted values in the workspace, and a second launch merges them.
#include "kernels/host/heads.hpp"
#include "kernels/host/variants.hpp"

namespace host_kernels {
namespace {

constexpr int64_t tile_keys = 32, most_splits = 4;

struct Arguments {
  Heads q, k, v, out;
  Table slots, lengths, rows, selected;
  int64_t batch, kv_heads, group, columns, width, block_size, splits;
  float scale;
  float* partials;

  // A partial: maximum, sum and `columns` weighted values of one (request, query head, split).
  [[nodiscard]] float* partial(int64_t request, int64_t head, int64_t split) const {
    return partials + ((request * kv_heads * group + head) * splits + split) * (columns + 2);
  }
};

// The number of splits follows from the selection's width alone: a request's result does not depend on its batch.
int64_t splits_for(int64_t width) { return width < most_splits ? width : most_splits; }

int64_t partial_floats(const DLTensor* q, const DLTensor* selected) {
  return q->shape[0] * q->shape[1] * splits_for(selected->shape[2]) * (q->shape[2] + 2);
}

template <class Cell>
void attend_tile(const Arguments& a, int64_t request, int64_t head, int64_t split, const int64_t* slots,
                 int64_t count) {
  float keys[tile_keys][max_head_dim], values[tile_keys][max_head_dim], query[max_head_dim];
  for (int64_t s = 0; s < count; ++s) {
    a.k.load<Cell>(slots[s], head, a.columns, keys[s]);
    a.v.load<Cell>(slots[s], head, a.columns, values[s]);
  }
  for (int64_t h = head * a.group; h < (head + 1) * a.group; ++h) {
    a.q.load<Cell>(request, h, a.columns, query);
    float* partial = a.partial(request, h, split);
    OnlineSoftmax softmax = {partial[0], partial[1]};
    float weights[tile_keys];
    for (int64_t s = 0; s < count; ++s) weights[s] = a.scale * dot(query, keys[s], a.columns);
    const float keep = softmax.take(weights, count);
    partial[0] = softmax.maximum;
    partial[1] = softmax.sum;
    float* sums = partial + 2;
    for (int64_t d = 0; d < a.columns; ++d) sums[d] *= keep;
    for (int64_t s = 0; s < count; ++s) {
      for (int64_t d = 0; d < a.columns; ++d) sums[d] += weights[s] * values[s][d];
    }
  }
}

template <class Cell>
void attend_split(const Arguments& a, int64_t request, int64_t head, int64_t split) {
  for (int64_t h = head * a.group; h < (head + 1) * a.group; ++h) {
    float* partial = a.partial(request, h, split);
    partial[0] = -__builtin_inff();
    for (int64_t i = 1; i < a.columns + 2; ++i) partial[i] = 0;
  }
  const int64_t length = a.lengths.at(request), row = a.rows.at(request);
  int64_t slots[tile_keys], count = 0;
  for (int64_t i = split * a.width / a.splits; i < (split + 1) * a.width / a.splits; ++i) {
    const int64_t block = a.selected.at(head, request, i);
    if (block < 0) continue;
    const int64_t end = (block + 1) * a.block_size < length ? (block + 1) * a.block_size : length;
    for (int64_t p = block * a.block_size; p < end; ++p) {
      slots[count++] = a.slots.at(row, p);
      if (count < tile_keys) continue;
      attend_tile<Cell>(a, request, head, split, slots, count);
      count = 0;
    }
  }
  if (count > 0) attend_tile<Cell>(a, request, head, split, slots, count);
}

template <class Cell>
void attend(const void* memory, uint32_t block, uint32_t blocks) {
  const auto& a = *static_cast<const Arguments*>(memory);
  const RowRange range = rows_of_block(a.batch * a.kv_heads * a.splits, block, blocks);
  for (int64_t i = range.begin; i < range.end; ++i) {
    attend_split<Cell>(a, i / a.splits / a.kv_heads, i / a.splits % a.kv_heads, i % a.splits);
  }
}

template <class Cell>
void merge_row(const Arguments& a, int64_t request, int64_t head) {
  float maximum = -__builtin_inff(), sum = 0, merged[max_head_dim] = {};
  for (int64_t split = 0; split < a.splits; ++split) {
    const float* partial = a.partial(request, head, split);
    if (partial[0] > maximum) maximum = partial[0];
  }
  for (int64_t split = 0; split < a.splits; ++split) {
    const float* partial = a.partial(request, head, split);
    if (!(partial[1] > 0)) continue;  // an empty split: its maximum is -inf
    const float weight = __builtin_expf(partial[0] - maximum);
    sum += weight * partial[1];
    for (int64_t d = 0; d < a.columns; ++d) merged[d] += weight * partial[2 + d];
  }
  const float share = sum > 0 ? 1 / sum : 0;  // a request that attends nothing is zero
  Cell* out = a.out.at<Cell>(request, head);
  for (int64_t d = 0; d < a.columns; ++d) store(out[d * a.out.step], merged[d] * share);
}

template <class Cell>
void merge(const void* memory, uint32_t block, uint32_t blocks) {
  const auto& a = *static_cast<const Arguments*>(memory);
  const int64_t heads = a.kv_heads * a.group;
  const RowRange range = rows_of_block(a.batch * heads, block, blocks);
  for (int64_t i = range.begin; i < range.end; ++i) merge_row<Cell>(a, i / heads, i % heads);
}

bool is_int32(const DLTensor* tensor, int rank) {
  return tensor->ndim == rank && tensor->dtype.code == kDLInt && tensor->dtype.bits == 32 && tensor->dtype.lanes == 1;
}

assay_status run(const assay_call* call, assay_in q, assay_in k_cache, assay_in v_cache, assay_in req_to_token,
                 assay_in seq_lens, assay_in req_pool_indices, assay_in topk_idx, assay_out out, double sm_scale,
                 int64_t block_size) {
  if (q->ndim != 3 || k_cache->ndim != 3 || v_cache->ndim != 3 || out->ndim != 3 || !is_int32(req_to_token, 2) ||
      !is_int32(seq_lens, 1) || !is_int32(req_pool_indices, 1) || !is_int32(topk_idx, 3)) {
    return fail(call, ASSAY_ERROR,
                "attention_decode: q, caches and out have rank 3, tables are "
                "int32 of rank 2, 1, 1, 3");
  }
  const int64_t batch = q->shape[0], heads = q->shape[1], kv_heads = k_cache->shape[1], columns = q->shape[2];
  bool fits = kv_heads > 0 && heads % kv_heads == 0 && k_cache->shape[2] == columns && block_size > 0 &&
              seq_lens->shape[0] == batch && req_pool_indices->shape[0] == batch && topk_idx->shape[0] == kv_heads &&
              topk_idx->shape[1] == batch;
  for (int dim = 0; dim < 3; ++dim) {
    fits = fits && out->shape[dim] == q->shape[dim] && v_cache->shape[dim] == k_cache->shape[dim];
  }
  if (!fits) return fail(call, ASSAY_ERROR, "attention_decode: extents do not fit each other");
  const assay_host_kernel attending[] = {nullptr, attend<float>, attend<Half>, attend<Bfloat>};
  const assay_host_kernel merging[] = {nullptr, merge<float>, merge<Half>, merge<Bfloat>};
  const Cells cells = cells_of(q);
  if (cells == Cells::other || cells_of(k_cache) != cells || cells_of(v_cache) != cells || cells_of(out) != cells) {
    return fail(call, ASSAY_UNSUPPORTED, "attention_decode: fp32, fp16 or bf16 throughout");
  }
  if (columns > max_head_dim) return fail(call, ASSAY_UNSUPPORTED, "attention_decode: head dims up to 256");
  if (batch == 0 || heads == 0 || columns == 0) return ASSAY_OK;
  Arguments a = {};
  a.q = heads_of(q);
  a.k = heads_of(k_cache);
  a.v = heads_of(v_cache);
  a.out = heads_of(out);
  a.slots = table_of(req_to_token);
  a.lengths = table_of(seq_lens);
  a.rows = table_of(req_pool_indices);
  a.selected = table_of(topk_idx);
  a.batch = batch;
  a.kv_heads = kv_heads;
  a.group = heads / kv_heads;
  a.columns = columns;
  a.width = topk_idx->shape[2];
  a.block_size = block_size;
  a.splits = splits_for(a.width);
  a.scale = static_cast<float>(sm_scale);
  a.partials = static_cast<float*>(call->workspace);
  if (a.splits > 0) {
    const int64_t splits = batch * kv_heads * a.splits;
    const assay_status status = call->host->launch(call->host_stream, attending[static_cast<int>(cells)],
                                                   static_cast<uint32_t>(splits < 1024 ? splits : 1024), &a, sizeof a);
    if (status != ASSAY_OK) return status;
  }
  return call->host->launch(call->host_stream, merging[static_cast<int>(cells)], blocks_for(batch * heads), &a,
                            sizeof a);
}

// q is the first argument, topk_idx the seventh.
assay_status scratch(const assay_call*, const DLTensor* const* tensors, uint32_t, size_t* bytes) {
  *bytes = static_cast<size_t>(partial_floats(tensors[0], tensors[6])) * sizeof(float);
  return ASSAY_OK;
}

constexpr assay_variant describe() {
  assay_variant variant = right_variant("attention.decode", "host.split_keys", R"({"head_dim": {"max": 256}})");
  variant.entry.attention_decode = run;
  variant.workspace = scratch;
  return variant;
}

}  // namespace

constinit const assay_variant attention_decode = describe();

}  // namespace host_kernels
