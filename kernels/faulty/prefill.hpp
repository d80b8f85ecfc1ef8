// prefill.hpp: attention.msa_prefill_block_score in a right form in which one property can be broken in a few lines.
//
// Promises: with nothing overridden, FAULTY_PREFILL makes a library that is as right as kernels/host, declared
// GRAPH_SAFE and DETERMINISTIC. Inputs are contiguous, as the slot says. Slower than kernels/host: each place of a
// selection is filled by a walk over all blocks.
// Who uses it: kernels/faulty/prefill_*.cc. Each overrides the member that its fault breaks, by name, through Self.
//
//   struct Fault : faulty::Prefill<Fault> {
//     static int64_t table_row(const PrefillArguments&, int64_t b) { return b; }   // slot_ids ignored
//   };
//   FAULTY_PREFILL(Fault)
#pragma once

#include "kernels/faulty/score.hpp"

namespace faulty {

struct PrefillArguments {
  Grid q, keys;
  const int32_t *table, *table_rows, *first_row, *lengths, *prefix, *first_block;
  int32_t* out;
  double* scratch;  // of each launch block: scores of all blocks, and whether they are taken
  int64_t query_rows, heads, width, slots, requests, capacity, max_q, max_k, block_q, block_k, topk, init, local,
      query_blocks;
  double scale;

  [[nodiscard]] int64_t rows_of(int64_t b) const { return first_row[b + 1] - first_row[b]; }
};

// What one output row is about: a head and a query block of a request.
struct Anchor {
  int64_t head, query_block, request, row, last;  // row of q, last visible position
};

struct Choice {
  double* scores;
  bool* taken;
  int64_t visible;

  // The best block from `first` to before `end` that is not taken, the lower of equals; -1 if there is none.
  [[nodiscard]] int64_t best(int64_t first, int64_t end) const {
    int64_t found = -1;
    for (int64_t n = first; n < end; ++n)
      if (!taken[n] && (found < 0 || scores[n] > scores[found])) found = n;
    return found;
  }
};

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// Members in the order of a call: entry -> enqueue -> (kernel -> row -> anchor, visible, block_score -> score -> slot,
// then force, choose, and write).
template <class Self>
struct Prefill {
  using Right = Prefill;
  static constexpr uint32_t flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;

  static assay_status entry(const assay_call* call, assay_in q, assay_in index_k_cache, assay_in req_to_token,
                            assay_in slot_ids, assay_in cu_seqlens, assay_in seq_lens, assay_in prefix_lens,
                            int64_t max_seqlen_q, int64_t max_seqlen_k, int64_t block_size_q, int64_t block_size_k,
                            int64_t topk, int64_t init_blocks, int64_t local_blocks, double scale,
                            assay_in cu_seqblocks_q, int64_t, int64_t all_seqblock_q, assay_out out_topk) {
    if (host_kernels::row_count(out_topk) == 0) return ASSAY_OK;
    const auto list = [](assay_in tensor) { return static_cast<const int32_t*>(tensor->data); };
    return Self::enqueue(call, PrefillArguments{grid_of(q),
                                                grid_of(index_k_cache),
                                                list(req_to_token),
                                                list(slot_ids),
                                                list(cu_seqlens),
                                                list(seq_lens),
                                                list(prefix_lens),
                                                list(cu_seqblocks_q),
                                                static_cast<int32_t*>(out_topk->data),
                                                static_cast<double*>(call->workspace),
                                                q->shape[0],
                                                q->shape[1],
                                                q->shape[2],
                                                index_k_cache->shape[0],
                                                slot_ids->shape[0],
                                                req_to_token->shape[1],
                                                max_seqlen_q,
                                                max_seqlen_k,
                                                block_size_q,
                                                block_size_k,
                                                topk,
                                                init_blocks,
                                                local_blocks,
                                                all_seqblock_q,
                                                scale});
  }
  static uint32_t launch_blocks(int64_t rows) { return rows < 2 ? 1 : rows < 32 ? 2 : 16; }
  static assay_status workspace(const assay_call*, const DLTensor* const* tensors, uint32_t count, size_t* bytes) {
    const int64_t capacity = tensors[2]->shape[1], rows = host_kernels::row_count(tensors[count - 1]);
    *bytes = static_cast<size_t>(launch_blocks(rows) * capacity) * 2 * sizeof(double);
    return ASSAY_OK;
  }
  static assay_status enqueue(const assay_call* call, const PrefillArguments& a) {
    return launch(call, call->host_stream, kernel, launch_blocks(a.heads * a.query_blocks), a);
  }
  static void kernel(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const PrefillArguments*>(memory);
    const auto range = host_kernels::rows_of_block(a.heads * a.query_blocks, block, blocks);
    double* scratch = a.scratch + 2 * block * a.capacity;
    for (int64_t row = range.begin; row < range.end; ++row)
      Self::row(a, row / a.query_blocks, row % a.query_blocks, scratch);
  }
  static void row(const PrefillArguments& a, int64_t head, int64_t query_block, double* scratch) {
    int64_t b = 0;
    while (a.first_block[b + 1] <= query_block) ++b;
    const Anchor anchor = Self::anchor(a, head, query_block, b);
    Choice choice{scratch, reinterpret_cast<bool*>(scratch + a.capacity), Self::visible(a, anchor)};
    for (int64_t n = 0; n < choice.visible; ++n) {
      choice.scores[n] = Self::block_score(a, anchor, n);
      choice.taken[n] = false;
    }
    const int64_t places = smaller(a.topk, choice.visible);
    Self::choose(a, choice, places - Self::force(a, choice));
    Self::write(a, anchor, choice);
  }
  static Anchor anchor(const PrefillArguments& a, int64_t head, int64_t query_block, int64_t b) {
    const int64_t offset = (query_block - a.first_block[b]) * a.block_q;
    return {head, query_block, b, a.first_row[b] + offset, a.prefix[b] + offset};
  }
  static int64_t visible(const PrefillArguments& a, const Anchor& anchor) { return anchor.last / a.block_k + 1; }
  static double block_score(const PrefillArguments& a, const Anchor& anchor, int64_t n) {
    const int64_t end = Self::end(a, anchor, n);
    double best = minus_infinity;
    for (int64_t p = n * a.block_k; p < end; ++p) {
      const double score = Self::score(a, anchor, p);
      if (score > best) best = score;
    }
    return best;
  }
  // One past the last position of a block that counts.
  static int64_t end(const PrefillArguments& a, const Anchor& anchor, int64_t n) {
    return smaller((n + 1) * a.block_k, anchor.last + 1);
  }
  static double score(const PrefillArguments& a, const Anchor& anchor, int64_t p) {
    return a.scale * row_product(a.q, anchor.row * a.heads + anchor.head, a.keys, Self::slot(a, anchor, p), a.width);
  }
  static int64_t slot(const PrefillArguments& a, const Anchor& anchor, int64_t p) {
    return a.table[Self::table_row(a, anchor.request) * a.capacity + p];
  }
  static int64_t table_row(const PrefillArguments& a, int64_t b) { return a.table_rows[b]; }
  // Takes the blocks that the policies force and counts them.
  static int64_t force(const PrefillArguments& a, const Choice& choice) {
    int64_t count = 0;
    for (int64_t n = 0; n < choice.visible; ++n) {
      choice.taken[n] = n < a.init || n >= choice.visible - a.local;
      count += choice.taken[n];
    }
    return count;
  }
  static void choose(const PrefillArguments&, const Choice& choice, int64_t places) {
    for (; places > 0; --places) choice.taken[choice.best(0, choice.visible)] = true;
  }
  static void write(const PrefillArguments& a, const Anchor& anchor, const Choice& choice) {
    int32_t* out = Self::out_row(a, anchor);
    int64_t count = 0;
    for (int64_t n = 0; n < choice.visible; ++n)
      if (choice.taken[n]) out[count++] = static_cast<int32_t>(Self::id(a, anchor, n));
    for (; count < a.topk; ++count) out[count] = -1;
  }
  static int32_t* out_row(const PrefillArguments& a, const Anchor& anchor) {
    return a.out + (anchor.head * a.query_blocks + anchor.query_block) * a.topk;
  }
  static int64_t id(const PrefillArguments&, const Anchor&, int64_t n) { return n; }
};

template <class Fault>
constexpr assay_variant prefill_variant() {
  assay_variant variant = variant_of("attention.msa_prefill_block_score", Fault::flags);
  variant.entry.msa_prefill_block_score = Fault::entry;
  variant.workspace = Fault::workspace;
  return variant;
}

}  // namespace faulty

#define FAULTY_PREFILL(fault) FAULTY_LIBRARY(faulty::prefill_variant<fault>())
