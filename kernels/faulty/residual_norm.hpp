// residual_norm.hpp: right kernels of the two collectives that end with a residual and an RMS norm, in a form in which
// one property can be broken in a few lines.
//
// Promises: with nothing overridden, FAULTY_ARNORM and FAULTY_FINALIZE make libraries that are as right as
// kernels/host, in every dtype, at every world size up to 16, declared GRAPH_SAFE and DETERMINISTIC: one-shot, through
// buffers of float in symmetric memory, with flags and an exit barrier.
// Who uses it: the files of kernels/faulty whose names begin with arnorm_ and finalize_.
//
//   struct Fault : faulty::ArNorm<Fault> {
//     static double total(const NormalisedArguments& a, int64_t row, int64_t column) { return sum(a, row, column); }
//   };
//   FAULTY_ARNORM(Fault)
#pragma once

#include "kernels/faulty/faulty.hpp"
#include "kernels/host/peers.hpp"

namespace faulty {

using host_kernels::Peers;

struct NormalisedArguments {
  Grid x, residual, weight, out_norm, out_residual;  // x: gemm_out of finalize
  int64_t rows, width, first;                        // first: the row that buffers begin with
  double eps;
  const Peers* peers;
  const void* workspace;  // of a fault that asks for some
  // Of finalize.
  const int32_t* map;
  const float* scales;
  int64_t map_step, scale_pitch, scale_step, tokens, places;

  // Rows that one turn's buffers hold, from `first` on.
  [[nodiscard]] int64_t turn() const {
    const int64_t most = host_kernels::buffer_bytes / (width * static_cast<int64_t>(sizeof(float)));
    return rows - first < most ? rows - first : most;
  }
};

// Members in the order of a call: enqueue -> kernel -> (publish -> partial, finish -> total -> sum -> part).
template <class Self>
struct ResidualNorm {
  static constexpr uint32_t flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;

  static assay_status describe(const assay_call* call, assay_in x, assay_in residual, assay_in weight, double eps,
                               assay_out out_norm, assay_out out_residual, NormalisedArguments a) {
    a.rows = host_kernels::row_count(residual);
    a.width = host_kernels::columns_of(residual);
    if (a.rows == 0 || a.width == 0) return ASSAY_OK;
    a.x = grid_of(x);
    a.residual = grid_of(residual);
    a.weight = grid_of(weight);
    a.out_norm = grid_of(out_norm);
    a.out_residual = grid_of(out_residual);
    a.eps = eps;
    a.peers = static_cast<const Peers*>(call->state);
    a.workspace = call->workspace;
    return Self::enqueue(call, a);
  }
  static assay_status enqueue(const assay_call* call, const NormalisedArguments& a) {
    return launch(call, call->host_stream, kernel, 1, a);
  }
  static void kernel(const void* memory, uint32_t, uint32_t) {
    NormalisedArguments a = *static_cast<const NormalisedArguments*>(memory);
    for (; a.first < a.rows; a.first += a.turn()) {
      Self::publish(a);
      a.peers->arrive();
      for (int64_t row = a.first; row < a.first + a.turn(); ++row) Self::finish(a, row);
      Self::leave(a);
    }
  }
  static void leave(const NormalisedArguments& a) { a.peers->leave(); }
  static void publish(const NormalisedArguments& a) {
    float* mine = a.peers->buffer<float>(a.peers->rank);
    for (int64_t row = a.first; row < a.first + a.turn(); ++row)
      for (int64_t column = 0; column < a.width; ++column) *mine++ = static_cast<float>(Self::partial(a, row, column));
  }
  static void finish(const NormalisedArguments& a, int64_t row) {
    const double scale = 1.0 / __builtin_sqrt(Self::squares(a, row) / static_cast<double>(a.width) + a.eps);
    for (int64_t column = 0; column < a.width; ++column) {
      const double total = Self::total(a, row, column);
      a.out_residual.set(row, column, total);
      a.out_norm.set(row, column, total * scale * a.weight.get(0, column));
    }
  }
  static double squares(const NormalisedArguments& a, int64_t row) {
    double sum = 0;
    for (int64_t column = 0; column < a.width; ++column) {
      const double total = Self::total(a, row, column);
      sum += total * total;
    }
    return sum;
  }
  static double total(const NormalisedArguments& a, int64_t row, int64_t column) {
    return Self::sum(a, row, column) + a.residual.get(row, column);
  }
  static double sum(const NormalisedArguments& a, int64_t row, int64_t column) {
    double sum = 0;
    for (int rank = 0; rank < a.peers->world; ++rank) sum += Self::part(a, rank, row, column);
    return sum;
  }
  static double part(const NormalisedArguments& a, int rank, int64_t row, int64_t column) {
    return a.peers->buffer<const float>(rank)[(row - a.first) * a.width + column];
  }
};

template <class Self>
struct ArNorm : ResidualNorm<Self> {
  using Right = ArNorm;

  static assay_status entry(const assay_call* call, assay_in x, assay_in residual, assay_in weight, double eps,
                            assay_out out_norm, assay_out out_residual) {
    return Self::describe(call, x, residual, weight, eps, out_norm, out_residual, NormalisedArguments{});
  }
  static double partial(const NormalisedArguments& a, int64_t row, int64_t column) { return a.x.get(row, column); }
};

template <class Self>
struct Finalize : ResidualNorm<Self> {
  using Right = Finalize;

  static assay_status entry(const assay_call* call, assay_in gemm_out, assay_in row_map, assay_in scales,
                            assay_in residual, assay_in weight, double eps, assay_out out_norm,
                            assay_out out_residual) {
    NormalisedArguments a{};
    a.map = reinterpret_cast<const int32_t*>(static_cast<const char*>(row_map->data) + row_map->byte_offset);
    a.scales = reinterpret_cast<const float*>(static_cast<const char*>(scales->data) + scales->byte_offset);
    a.map_step = row_map->strides[0];
    a.scale_pitch = scales->strides[0];
    a.scale_step = scales->strides[1];
    a.tokens = scales->shape[0];
    a.places = scales->shape[1];
    return Self::describe(call, gemm_out, residual, weight, eps, out_norm, out_residual, a);
  }
  static double partial(const NormalisedArguments& a, int64_t token, int64_t column) {
    double sum = 0;
    for (int64_t k = 0; k < a.places; ++k) sum += Self::term(a, token, k, column);
    return sum;
  }
  static double term(const NormalisedArguments& a, int64_t token, int64_t k, int64_t column) {
    return Self::scale(a, token, k) * a.x.get(Self::source(a, token, k), column);
  }
  static double scale(const NormalisedArguments& a, int64_t token, int64_t k) {
    return static_cast<double>(a.scales[token * a.scale_pitch + k * a.scale_step]);
  }
  static int64_t source(const NormalisedArguments& a, int64_t token, int64_t k) {
    return a.map[(token + k * a.tokens) * a.map_step];
  }
};

template <class Fault>
constexpr assay_variant residual_norm_variant(const char* slot) {
  assay_variant variant = variant_of(slot, Fault::flags);
  variant.init = host_kernels::join_peers;
  variant.destroy = host_kernels::part_peers;
  if constexpr (requires { &Fault::workspace; }) variant.workspace = &Fault::workspace;
  return variant;
}
template <class Fault>
constexpr assay_variant arnorm_variant() {
  assay_variant variant = residual_norm_variant<Fault>("collective.ar_residual_rmsnorm");
  variant.entry.ar_residual_rmsnorm = Fault::entry;
  return variant;
}
template <class Fault>
constexpr assay_variant finalize_variant() {
  assay_variant variant = residual_norm_variant<Fault>("collective.moe_finalize_ar_rmsnorm");
  variant.entry.moe_finalize_ar_rmsnorm = Fault::entry;
  return variant;
}

}  // namespace faulty

#define FAULTY_ARNORM(fault) FAULTY_LIBRARY(faulty::arnorm_variant<fault>())
#define FAULTY_FINALIZE(fault) FAULTY_LIBRARY(faulty::finalize_variant<fault>())
