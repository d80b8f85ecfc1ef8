// attention.sdpa on the host model: tiles of queries that share a key/value head against tiles of keys.
#include "kernels/host/heads.hpp"
#include "kernels/host/variants.hpp"

namespace host_kernels {
namespace {

constexpr int64_t tile_rows = 8, tile_keys = 32;

struct Arguments {
  Heads q, k, v, out;
  int64_t rows, keys, kv_heads, group, columns;
  float scale;
  bool causal;

  // Row t of T sees the keys up to t + S - T: the diagonal ends at the last key.
  [[nodiscard]] int64_t visible(int64_t row) const {
    const int64_t count = causal ? row + keys - rows + 1 : keys;
    return count < 0 ? 0 : count;
  }
};

// The rows of one key/value head are (token, head of the group), so that a tile reads its keys once for all of them.
struct Tile {
  int64_t head, first, count;
};

int64_t tiles_of_head(const Arguments& a) { return (a.rows * a.group + tile_rows - 1) / tile_rows; }

Tile tile_at(const Arguments& a, int64_t index) {
  const int64_t first = index % tiles_of_head(a) * tile_rows, left = a.rows * a.group - first;
  return {index / tiles_of_head(a), first, left < tile_rows ? left : tile_rows};
}

template <class Cell>
void attend(const Arguments& a, const Tile& tile) {
  float queries[tile_rows][max_head_dim], sums[tile_rows][max_head_dim], keys[tile_keys][max_head_dim],
      values[tile_keys][max_head_dim];
  OnlineSoftmax softmax[tile_rows];
  int64_t end = 0;
  for (int64_t i = 0; i < tile.count; ++i) {
    const int64_t row = (tile.first + i) / a.group, head = tile.head * a.group + (tile.first + i) % a.group;
    a.q.load<Cell>(row, head, a.columns, queries[i]);
    for (int64_t d = 0; d < a.columns; ++d) sums[i][d] = 0;
    if (a.visible(row) > end) end = a.visible(row);
  }
  for (int64_t first = 0; first < end; first += tile_keys) {
    const int64_t loaded = end - first < tile_keys ? end - first : tile_keys;
    for (int64_t s = 0; s < loaded; ++s) {
      a.k.load<Cell>(first + s, tile.head, a.columns, keys[s]);
      a.v.load<Cell>(first + s, tile.head, a.columns, values[s]);
    }
    for (int64_t i = 0; i < tile.count; ++i) {
      const int64_t seen = a.visible((tile.first + i) / a.group) - first, count = seen < loaded ? seen : loaded;
      if (count <= 0) continue;
      float weights[tile_keys];
      for (int64_t s = 0; s < count; ++s) weights[s] = a.scale * dot(queries[i], keys[s], a.columns);
      const float keep = softmax[i].take(weights, count);
      for (int64_t d = 0; d < a.columns; ++d) sums[i][d] *= keep;
      for (int64_t s = 0; s < count; ++s) {
        for (int64_t d = 0; d < a.columns; ++d) sums[i][d] += weights[s] * values[s][d];
      }
    }
  }
  for (int64_t i = 0; i < tile.count; ++i) {
    const int64_t row = (tile.first + i) / a.group, head = tile.head * a.group + (tile.first + i) % a.group;
    const float share = softmax[i].sum > 0 ? 1 / softmax[i].sum : 0;  // a row that sees no key is zero
    Cell* out = a.out.at<Cell>(row, head);
    for (int64_t d = 0; d < a.columns; ++d) store(out[d * a.out.step], sums[i][d] * share);
  }
}

template <class Cell>
void kernel(const void* memory, uint32_t block, uint32_t blocks) {
  const auto& a = *static_cast<const Arguments*>(memory);
  const RowRange range = rows_of_block(a.kv_heads * tiles_of_head(a), block, blocks);
  for (int64_t tile = range.begin; tile < range.end; ++tile) attend<Cell>(a, tile_at(a, tile));
}

assay_status run(const assay_call* call, assay_in q, assay_in k, assay_in v, assay_out out, double sm_scale,
                 int32_t causal) {
  if (q->ndim != 3 || k->ndim != 3 || v->ndim != 3 || out->ndim != 3) {
    return fail(call, ASSAY_ERROR, "attention: q, k, v and out are (tokens, heads, head dim)");
  }
  const int64_t heads = q->shape[1], kv_heads = k->shape[1], columns = q->shape[2];
  bool fits = kv_heads > 0 && heads % kv_heads == 0 && k->shape[2] == columns;
  for (int dim = 0; dim < 3; ++dim) fits = fits && out->shape[dim] == q->shape[dim] && v->shape[dim] == k->shape[dim];
  if (!fits) return fail(call, ASSAY_ERROR, "attention: q and out are (T,Hq,D), k and v (S,Hkv,D), Hkv divides Hq");
  const assay_host_kernel kernels[] = {nullptr, kernel<float>, kernel<Half>, kernel<Bfloat>};
  const Cells cells = cells_of(q);
  const assay_host_kernel chosen = kernels[static_cast<int>(cells)];
  if (chosen == nullptr || cells_of(k) != cells || cells_of(v) != cells || cells_of(out) != cells) {
    return fail(call, ASSAY_UNSUPPORTED, "attention: fp32, fp16 or bf16 throughout");
  }
  if (columns > max_head_dim) return fail(call, ASSAY_UNSUPPORTED, "attention: head dims up to 256");
  if (q->shape[0] == 0 || heads == 0 || columns == 0) return ASSAY_OK;
  const Arguments a = {heads_of(q), heads_of(k), heads_of(v),      heads_of(out), q->shape[0],
                       k->shape[0], kv_heads,    heads / kv_heads, columns,       static_cast<float>(sm_scale),
                       causal != 0};
  const int64_t tiles = kv_heads * tiles_of_head(a);
  return call->host->launch(call->host_stream, chosen, static_cast<uint32_t>(tiles < 1024 ? tiles : 1024), &a,
                            sizeof a);
}

constexpr assay_variant describe() {
  assay_variant variant = right_variant("attention.sdpa", "host.tiles", R"({"head_dim": {"max": 256}})");
  variant.entry.attention = run;
  return variant;
}

}  // namespace

constinit const assay_variant attention = describe();

}  // namespace host_kernels
