// score.hpp: attention.msa_block_score in a right form in which one property can be broken in a few lines.
//
// Promises: with nothing overridden, FAULTY_SCORE makes a library that is as right as kernels/host, declared GRAPH_SAFE
// and DETERMINISTIC. Inputs are contiguous, as the slot says.
// Who uses it: kernels/faulty/score_*.cc. Each overrides the member that its fault breaks, by name, through Self.
//
//   struct Fault : faulty::Score<Fault> {
//     static int64_t length(const ScoreArguments& a, int64_t) { return a.length; }   // no mask
//   };
//   FAULTY_SCORE(Fault)
#pragma once

#include "kernels/faulty/faulty.hpp"

namespace faulty {

constexpr double minus_infinity = -__builtin_inf();

// The product of two rows of cells.
inline double row_product(const Grid& left, int64_t left_row, const Grid& right, int64_t right_row, int64_t width) {
  const int64_t from = left.at(left_row, 0), to = right.at(right_row, 0);
  double sum = 0;
  for (int64_t d = 0; d < width; ++d) sum += left.load(from + d) * right.load(to + d);
  return sum;
}

struct ScoreArguments {
  Grid q, keys, out;
  const int32_t* lengths;
  int64_t batch, heads, width, length, block, columns;  // length is S, columns the blocks of a row
};

// Members in the order of a call: entry -> enqueue -> (kernel -> row -> cell -> length, score -> head).
template <class Self>
struct Score {
  using Right = Score;
  static constexpr uint32_t flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;

  static assay_status entry(const assay_call* call, assay_in q, assay_in index_k, assay_in seq_lens, int64_t block_size,
                            assay_out out) {
    if (out->shape[0] == 0 || out->shape[1] == 0) return ASSAY_OK;
    return Self::enqueue(
        call, ScoreArguments{grid_of(q), grid_of(index_k), grid_of(out), static_cast<const int32_t*>(seq_lens->data),
                             q->shape[0], q->shape[1], q->shape[2], index_k->shape[1], block_size, out->shape[1]});
  }
  static assay_status enqueue(const assay_call* call, const ScoreArguments& a) {
    return launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.batch), a);
  }
  static void kernel(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const ScoreArguments*>(memory);
    const auto range = host_kernels::rows_of_block(a.batch, block, blocks);
    for (int64_t b = range.begin; b < range.end; ++b) Self::row(a, b);
  }
  static void row(const ScoreArguments& a, int64_t b) {
    for (int64_t n = 0; n < a.columns; ++n) a.out.set(b, n, Self::cell(a, b, n));
  }
  static double cell(const ScoreArguments& a, int64_t b, int64_t n) {
    const int64_t length = Self::length(a, b), end = (n + 1) * a.block < length ? (n + 1) * a.block : length;
    double best = minus_infinity;
    for (int64_t p = n * a.block; p < end; ++p) {
      const double score = Self::score(a, b, p);
      if (score > best) best = score;
    }
    return best;
  }
  static int64_t length(const ScoreArguments& a, int64_t b) { return a.lengths[b]; }
  static double score(const ScoreArguments& a, int64_t b, int64_t p) {
    double sum = 0;
    for (int64_t h = 0; h < a.heads; ++h) sum += Self::head(a, b, h, p);
    return sum;
  }
  static double head(const ScoreArguments& a, int64_t b, int64_t h, int64_t p) {
    return row_product(a.q, b * a.heads + h, a.keys, b * a.length + p, a.width);
  }
};

template <class Fault>
constexpr assay_variant score_variant() {
  assay_variant variant = variant_of("attention.msa_block_score", Fault::flags);
  variant.entry.msa_block_score = Fault::entry;
  return variant;
}

}  // namespace faulty

#define FAULTY_SCORE(fault) FAULTY_LIBRARY(faulty::score_variant<fault>())
