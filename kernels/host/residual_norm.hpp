// residual_norm.hpp: from a rank's partial rows to the group's sum, plus a residual, and its RMS norm, in two forms: as
// one kernel over symmetric memory, and around the group's own collective.
//
// Promises: sums are made in float in rank order, or by the group, and never rounded before the norm; the norm is made
// in float64. A row's bits depend on nothing beside it, neither on the number of rows nor on the form that reduced it.
// Fewer than 48 rows are reduced in one shot: every rank adds up all that it reads. From there on in two: each rank
// adds up its share of the rows, and all read the sums.
// Who uses it: ar_residual_rmsnorm.cc, moe_finalize_ar_rmsnorm.cc. Their Part makes partial rows:
//
//   struct Copied { Rows x; template <class Cell> void row(int64_t row, int64_t hidden, float* to) const; };
//   return reduce_in_kernel(call, norm, part, cells);
#pragma once

#include "kernels/host/peers.hpp"
#include "kernels/host/rows.hpp"
#include "kernels/host/summed.hpp"

namespace host_kernels {

constexpr int64_t two_shot_rows = 48;

struct NormArguments {
  Rows residual, weight, out_norm, out_residual;
  int64_t rows, hidden;
  double eps;
  float *partial, *sum;  // scratch: all rows each around the group's collective, one row of sums in a kernel
  const Peers* peers;
};

template <class Part>
struct PartArguments {
  NormArguments norm;
  Part part;
};

// The sum of one row, in place, plus the residual; then the norm.
template <class Cell>
void finish_row(const NormArguments& a, int64_t row, float* sum) {
  const Cell *residual = a.residual.at<const Cell>(row), *weight = a.weight.at<const Cell>(0);
  Cell *norm = a.out_norm.at<Cell>(row), *out = a.out_residual.at<Cell>(row);
  double squares = 0;
  for (int64_t i = 0; i < a.hidden; ++i) {
    sum[i] += to_float(residual[i * a.residual.step]);
    squares += static_cast<double>(sum[i]) * static_cast<double>(sum[i]);
    store(out[i * a.out_residual.step], sum[i]);
  }
  const double scale = 1.0 / __builtin_sqrt(squares / static_cast<double>(a.hidden) + a.eps);
  for (int64_t i = 0; i < a.hidden; ++i) {
    const double value = static_cast<double>(sum[i]) * scale * static_cast<double>(to_float(weight[i * a.weight.step]));
    store(norm[i * a.out_norm.step], static_cast<float>(value));
  }
}

// Row by row of the buffers, which begin with the turn's first row.
inline void sum_of_ranks(const Peers& peers, int64_t row, int64_t hidden, float* to) {
  for (int64_t i = row * hidden; i < (row + 1) * hidden; ++i) {
    float sum = peers.buffer<const float>(0)[i];
    for (int rank = 1; rank < peers.world; ++rank) sum += peers.buffer<const float>(rank)[i];
    *to++ = sum;
  }
}

inline RowRange share_of(const Peers& peers, int64_t rows, int rank) {
  return rows_of_block(rows, static_cast<uint32_t>(rank), static_cast<uint32_t>(peers.world));
}

template <class Part, class Cell>
void reduce_kernel(const void* memory, uint32_t, uint32_t) {
  const auto& [norm, part] = *static_cast<const PartArguments<Part>*>(memory);
  const Peers& peers = *norm.peers;
  const bool two_shot = norm.rows >= two_shot_rows;
  const int64_t hidden = norm.hidden, most = buffer_bytes / (hidden * static_cast<int64_t>(sizeof(float)));
  for (int64_t first = 0; first < norm.rows; first += most) {
    const int64_t rows = norm.rows - first < most ? norm.rows - first : most;
    auto* mine = peers.buffer<float>(peers.rank);
    for (int64_t row = 0; row < rows; ++row) part.template row<Cell>(first + row, hidden, mine + row * hidden);
    peers.arrive();
    if (two_shot) {
      // In place: of these rows in this buffer, no other rank reads anything before the second meeting.
      const RowRange share = share_of(peers, rows, peers.rank);
      for (int64_t row = share.begin; row < share.end; ++row) sum_of_ranks(peers, row, hidden, mine + row * hidden);
      peers.arrive();
    }
    for (int owner = 0; owner < (two_shot ? peers.world : 1); ++owner) {
      const RowRange range = two_shot ? share_of(peers, rows, owner) : RowRange{0, rows};
      for (int64_t row = range.begin; row < range.end; ++row) {
        if (two_shot)
          __builtin_memcpy(norm.sum, peers.buffer<const float>(owner) + row * hidden,
                           static_cast<size_t>(hidden) * sizeof(float));
        else
          sum_of_ranks(peers, row, hidden, norm.sum);
        finish_row<Cell>(norm, first + row, norm.sum);
      }
    }
    peers.leave();
  }
}

template <class Part, class Cell>
void partial_kernel(const void* memory, uint32_t block, uint32_t blocks) {
  const auto& [norm, part] = *static_cast<const PartArguments<Part>*>(memory);
  const RowRange range = rows_of_block(norm.rows, block, blocks);
  for (int64_t row = range.begin; row < range.end; ++row)
    part.template row<Cell>(row, norm.hidden, norm.partial + row * norm.hidden);
}

template <class Cell>
void finish_kernel(const void* memory, uint32_t block, uint32_t blocks) {
  const auto& norm = *static_cast<const NormArguments*>(memory);
  const RowRange range = rows_of_block(norm.rows, block, blocks);
  for (int64_t row = range.begin; row < range.end; ++row) finish_row<Cell>(norm, row, norm.sum + row * norm.hidden);
}

// What both slots' entries check and copy.
inline assay_status describe_norm(const assay_call* call, assay_in residual, assay_in weight, double eps,
                                  assay_out out_norm, assay_out out_residual, NormArguments* a) {
  const Cells cells = cells_of(residual);
  if (cells == Cells::other || cells != cells_of(weight) || cells != cells_of(out_norm) ||
      cells != cells_of(out_residual))
    return fail(call, ASSAY_UNSUPPORTED, "residual norm: fp32, fp16 or bf16 throughout");
  a->rows = row_count(residual);
  a->hidden = columns_of(residual);
  if (columns_of(weight) != a->hidden || columns_of(out_norm) != a->hidden || columns_of(out_residual) != a->hidden ||
      row_count(out_norm) != a->rows || row_count(out_residual) != a->rows)
    return fail(call, ASSAY_ERROR, "residual norm: residual and outputs are not (T,H) for weight (H)");
  a->residual = rows_of(residual);
  a->weight = rows_of(weight);
  a->out_norm = rows_of(out_norm);
  a->out_residual = rows_of(out_residual);
  a->eps = eps;
  return ASSAY_OK;
}

// Workspace of the two forms.
inline assay_status one_row(const DLTensor* residual, size_t* bytes) {
  *bytes = static_cast<size_t>(columns_of(residual)) * sizeof(float);
  return ASSAY_OK;
}
inline assay_status two_of_all_rows(const DLTensor* residual, size_t* bytes) {
  *bytes = 2 * static_cast<size_t>(row_count(residual) * columns_of(residual)) * sizeof(float);
  return ASSAY_OK;
}

// The variant's workspace, in a slot of `tensors` tensors whose residual is number `residual`.
template <uint32_t tensors, uint32_t residual, assay_status (*scratch)(const DLTensor*, size_t*)>
assay_status workspace_of(const assay_call*, const DLTensor* const* given, uint32_t count, size_t* bytes) {
  return count == tensors ? scratch(given[residual], bytes) : ASSAY_ERROR;
}

template <class Part>
assay_status reduce_in_kernel(const assay_call* call, NormArguments norm, const Part& part, Cells cells) {
  if (norm.rows == 0 || norm.hidden == 0) return ASSAY_OK;
  if (norm.hidden * static_cast<int64_t>(sizeof(float)) > buffer_bytes)
    return fail(call, ASSAY_UNSUPPORTED, "residual norm: rows wider than a buffer");
  norm.sum = static_cast<float*>(call->workspace);
  norm.peers = static_cast<const Peers*>(call->state);
  const PartArguments<Part> arguments = {norm, part};
  const assay_host_kernel kernel = cells == Cells::f32   ? reduce_kernel<Part, float>
                                   : cells == Cells::f16 ? reduce_kernel<Part, Half>
                                                         : reduce_kernel<Part, Bfloat>;
  return call->host->launch(call->host_stream, kernel, 1, &arguments, sizeof arguments);
}

template <class Part>
assay_status reduce_through_group(const assay_call* call, NormArguments norm, const Part& part, Cells cells) {
  if (norm.rows == 0 || norm.hidden == 0) return ASSAY_OK;
  norm.partial = static_cast<float*>(call->workspace);
  norm.sum = norm.partial + norm.rows * norm.hidden;
  const PartArguments<Part> arguments = {norm, part};
  const assay_host_kernel make = cells == Cells::f32   ? partial_kernel<Part, float>
                                 : cells == Cells::f16 ? partial_kernel<Part, Half>
                                                       : partial_kernel<Part, Bfloat>;
  const assay_host_kernel finish = cells == Cells::f32   ? finish_kernel<float>
                                   : cells == Cells::f16 ? finish_kernel<Half>
                                                         : finish_kernel<Bfloat>;
  const uint32_t blocks = blocks_for(norm.rows);
  if (call->host->launch(call->host_stream, make, blocks, &arguments, sizeof arguments) != ASSAY_OK) return ASSAY_ERROR;
  const assay_status status = sum_over_group(call, norm.partial, norm.sum, norm.rows, norm.hidden);
  if (status != ASSAY_OK) return status;
  return call->host->launch(call->host_stream, finish, blocks, &norm, sizeof norm);
}

}  // namespace host_kernels
