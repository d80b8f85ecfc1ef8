// collective.hpp: a right all-reduce in a form in which one property can be broken in a few lines.
//
// Promises: with nothing overridden, FAULTY_ALL_REDUCE makes a library that is as right as kernels/host, in every
// dtype, at every world size up to 16, declared GRAPH_SAFE and DETERMINISTIC: one-shot, through buffers of float in
// symmetric memory, with flags and an exit barrier.
// Who uses it: the files of kernels/faulty whose names begin with collective_.
//
//   struct Fault : faulty::AllReduce<Fault> {
//     static double cell(const ReduceArguments& a, int64_t row, int64_t column) { return a.x.get(row, column); }
//   };
//   FAULTY_ALL_REDUCE(Fault)
#pragma once

#include "kernels/faulty/faulty.hpp"
#include "kernels/host/peers.hpp"

namespace faulty {

using host_kernels::Peers;

struct ReduceArguments {
  Grid x, out;
  int64_t rows, width, first;  // first: the row that buffers begin with
  const Peers* peers;
};

// Members in the order of a call: entry -> enqueue -> kernel -> (publish, cell -> part).
template <class Self>
struct AllReduce {
  using Right = AllReduce;
  static constexpr uint32_t flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;

  static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
    const int64_t rows = host_kernels::row_count(x), width = host_kernels::columns_of(x);
    if (rows == 0 || width == 0) return ASSAY_OK;
    return Self::enqueue(
        call, ReduceArguments{grid_of(x), grid_of(out), rows, width, 0, static_cast<const Peers*>(call->state)});
  }
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    return launch(call, call->host_stream, kernel, 1, a);
  }
  static void kernel(const void* memory, uint32_t, uint32_t) {
    ReduceArguments a = *static_cast<const ReduceArguments*>(memory);
    const int64_t most = host_kernels::buffer_bytes / (a.width * static_cast<int64_t>(sizeof(float)));
    for (; a.first < a.rows; a.first += most) {
      const int64_t end = a.rows - a.first < most ? a.rows : a.first + most;
      Self::publish(a, end);
      a.peers->arrive();
      for (int64_t row = a.first; row < end; ++row)
        for (int64_t column = 0; column < a.width; ++column) a.out.set(row, column, Self::cell(a, row, column));
      a.peers->leave();
    }
  }
  static void publish(const ReduceArguments& a, int64_t end) {
    float* mine = a.peers->buffer<float>(a.peers->rank);
    for (int64_t row = a.first; row < end; ++row)
      for (int64_t column = 0; column < a.width; ++column) *mine++ = static_cast<float>(a.x.get(row, column));
  }
  static double cell(const ReduceArguments& a, int64_t row, int64_t column) {
    double sum = 0;
    for (int rank = 0; rank < a.peers->world; ++rank) sum += Self::part(a, rank, row, column);
    return sum;
  }
  static double part(const ReduceArguments& a, int rank, int64_t row, int64_t column) {
    return a.peers->buffer<const float>(rank)[(row - a.first) * a.width + column];
  }
};

template <class Fault>
constexpr assay_variant all_reduce_variant() {
  assay_variant variant = variant_of("collective.all_reduce", Fault::flags);
  variant.entry.all_reduce = Fault::entry;
  variant.init = host_kernels::join_peers;
  variant.destroy = host_kernels::part_peers;
  if constexpr (requires { Fault::capabilities; }) variant.capabilities = Fault::capabilities;
  return variant;
}

}  // namespace faulty

#define FAULTY_ALL_REDUCE(fault) FAULTY_LIBRARY(faulty::all_reduce_variant<fault>())
