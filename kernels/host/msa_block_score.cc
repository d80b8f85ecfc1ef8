// attention.msa_block_score on the host model: each block's best score of the summed queries, -inf where nothing is
// visible. Two launches: the first sums the heads of a request into the workspace, since the sum is the same for all
// keys; the second scores.
#include "kernels/host/dots.hpp"
#include "kernels/host/variants.hpp"

namespace host_kernels {
namespace {

struct Arguments {
  Rows q, keys, out;
  Integers lengths;
  double* sums;  // (batch, width)
  int64_t batch, heads, width, length, block;
};

template <class Cell>
void sum_heads(const void* memory, uint32_t block, uint32_t blocks) {
  const auto& a = *static_cast<const Arguments*>(memory);
  const RowRange range = rows_of_block(a.batch, block, blocks);
  for (int64_t b = range.begin; b < range.end; ++b) {
    double* sums = a.sums + b * a.width;
    for (int64_t d = 0; d < a.width; ++d) sums[d] = 0;
    for (int64_t h = 0; h < a.heads; ++h) {
      const Cell* q = a.q.at<const Cell>(b * a.heads + h);
      for (int64_t d = 0; d < a.width; ++d) sums[d] += value_of(q[d * a.q.step]);
    }
  }
}

template <class Cell>
void kernel(const void* memory, uint32_t block, uint32_t blocks) {
  const auto& a = *static_cast<const Arguments*>(memory);
  const int64_t columns = a.length / a.block;
  const RowRange range = rows_of_block(a.batch * columns, block, blocks);
  for (int64_t cell = range.begin; cell < range.end; ++cell) {
    const int64_t b = cell / columns, n = cell % columns;
    const int64_t first = n * a.block, end = first + a.block < a.lengths[b] ? first + a.block : a.lengths[b];
    double best = -__builtin_inf();
    for (int64_t p = first; p < end; ++p) {
      const Cell* key = a.keys.at<const Cell>(b * a.length + p);
      const double value = dot(static_cast<const double*>(a.sums + b * a.width), 1, key, a.keys.step, a.width);
      if (value > best) best = value;
    }
    a.out.at<float>(b)[n * a.out.step] = static_cast<float>(best);
  }
}

assay_status run(const assay_call* call, assay_in q, assay_in index_k, assay_in seq_lens, int64_t block_size,
                 assay_out out) {
  if (q->ndim != 3 || index_k->ndim != 4 || seq_lens->ndim != 1 || out->ndim != 2 || index_k->shape[2] != 1 ||
      index_k->shape[0] != q->shape[0] || seq_lens->shape[0] != q->shape[0] || out->shape[0] != q->shape[0] ||
      index_k->shape[3] != q->shape[2] || block_size < 1 || index_k->shape[1] % block_size != 0 ||
      out->shape[1] != index_k->shape[1] / block_size)
    return fail(call, ASSAY_ERROR,
                "msa_block_score: q (B,Hq,D), index_k (B,S,1,D), seq_lens (B), out (B,S/block_size)");
  const assay_host_kernel sums[] = {nullptr, sum_heads<float>, sum_heads<Half>, sum_heads<Bfloat>};
  const assay_host_kernel scores[] = {nullptr, kernel<float>, kernel<Half>, kernel<Bfloat>};
  const auto cells = static_cast<int>(cells_of(q));
  if (sums[cells] == nullptr || cells_of(q) != cells_of(index_k) || cells_of(out) != Cells::f32 || !is_int32(seq_lens))
    return fail(call, ASSAY_UNSUPPORTED, "msa_block_score: fp32, fp16 or bf16, int32 lengths, fp32 scores");
  if (out->shape[0] == 0 || out->shape[1] == 0) return ASSAY_OK;
  const Arguments a = {
      rows_of(q),  rows_of(index_k), rows_of(out), integers_of(seq_lens), static_cast<double*>(call->workspace),
      q->shape[0], q->shape[1],      q->shape[2],  index_k->shape[1],     block_size};
  const assay_status status = call->host->launch(call->host_stream, sums[cells], blocks_for(a.batch), &a, sizeof a);
  if (status != ASSAY_OK) return status;
  return call->host->launch(call->host_stream, scores[cells], blocks_for(a.batch * out->shape[1]), &a, sizeof a);
}

assay_status workspace(const assay_call*, const DLTensor* const* tensors, uint32_t, size_t* bytes) {
  const DLTensor* q = tensors[0];
  *bytes = static_cast<size_t>(q->shape[0] * q->shape[2]) * sizeof(double);
  return ASSAY_OK;
}

constexpr assay_variant describe() {
  assay_variant variant = right_variant("attention.msa_block_score", "host.rows");
  variant.entry.msa_block_score = run;
  variant.workspace = workspace;
  return variant;
}

}  // namespace

constinit const assay_variant msa_block_score = describe();

}  // namespace host_kernels
