// decode.hpp: the right kernel of attention.decode in a form in which one property can be broken in a few lines.
//
// Promises: as faulty.hpp: with nothing overridden FAULTY_DECODE makes a library that passes every rule.
// Who uses it: the decode_*.cc of this folder.
//
//   struct Fault : faulty::Decode<Fault> {
//     static int64_t slot(const DecodeArguments&, int64_t, int64_t position) { return position; }   // no page table
//   };
//   FAULTY_DECODE(Fault)
#pragma once

#include "kernels/faulty/attended.hpp"
#include "kernels/host/heads.hpp"

namespace faulty {

using host_kernels::Table;

// Row b * heads() + h of q and out, slot * kv_heads + j of the caches.
struct DecodeArguments {
  Grid q, k, v, out;
  Table slots, lengths, rows, selected;
  int64_t batch, kv_heads, group, columns, width, block_size, capacity, table_rows, cache_slots;
  double scale;

  [[nodiscard]] int64_t heads() const { return kv_heads * group; }
};

// Members in the order of a call: entry -> enqueue -> (kernel -> row -> attend -> chosen, length, end -> position ->
// slot, kv_head; write).
template <class Self>
struct Decode {
  using Right = Decode;
  static constexpr uint32_t flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;

  static assay_status entry(const assay_call* call, assay_in q, assay_in k, assay_in v, assay_in table,
                            assay_in lengths, assay_in rows, assay_in selected, assay_out out, double scale,
                            int64_t block_size) {
    using host_kernels::table_of;
    const DecodeArguments a = {grid_of(q),
                               grid_of(k),
                               grid_of(v),
                               grid_of(out),
                               table_of(table),
                               table_of(lengths),
                               table_of(rows),
                               table_of(selected),
                               q->shape[0],
                               k->shape[1],
                               q->shape[1] / k->shape[1],
                               q->shape[2],
                               selected->shape[2],
                               block_size,
                               table->shape[1],
                               table->shape[0],
                               k->shape[0],
                               scale};
    if (a.columns > max_columns) return fail(call, ASSAY_UNSUPPORTED, "head dims up to 256");
    return a.batch == 0 ? ASSAY_OK : Self::enqueue(call, a);
  }
  static assay_status enqueue(const assay_call* call, const DecodeArguments& a) {
    return launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.batch * a.heads()), a);
  }
  static void kernel(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const DecodeArguments*>(memory);
    const auto range = host_kernels::rows_of_block(a.batch * a.heads(), block, blocks);
    for (int64_t row = range.begin; row < range.end; ++row) Self::row(a, row / a.heads(), row % a.heads());
  }
  static void row(const DecodeArguments& a, int64_t request, int64_t head) {
    Attended attended;
    Self::attend(a, request, head, 0, a.width, attended);
    Self::write(a, request, head, attended);
  }
  // The selection's places from begin to end.
  static void attend(const DecodeArguments& a, int64_t request, int64_t head, int64_t begin, int64_t end,
                     Attended& attended) {
    for (int64_t place = begin; place < end; ++place) {
      const int64_t block = Self::chosen(a, request, Self::kv_head(a, head), place);
      if (block < 0) continue;
      const int64_t last = Self::end(a, request, block);
      for (int64_t p = block * a.block_size; p < last; ++p) Self::position(a, request, head, p, attended);
    }
  }
  static int64_t chosen(const DecodeArguments& a, int64_t request, int64_t kv_head, int64_t place) {
    return a.selected.at(kv_head, request, place);
  }
  static int64_t length(const DecodeArguments& a, int64_t request) { return a.lengths.at(request); }
  // Positions of a block end here.
  static int64_t end(const DecodeArguments& a, int64_t request, int64_t block) {
    const int64_t length = Self::length(a, request), full = (block + 1) * a.block_size;
    return full < length ? full : length;
  }
  static void position(const DecodeArguments& a, int64_t request, int64_t head, int64_t position, Attended& attended) {
    const int64_t row = Self::slot(a, request, position) * a.kv_heads + Self::kv_head(a, head);
    attended.add(a.scale * dot(a.q, request * a.heads() + head, a.k, row, a.columns), a.v, row, a.columns);
  }
  static int64_t slot(const DecodeArguments& a, int64_t request, int64_t position) {
    return a.slots.at(a.rows.at(request), position);
  }
  static int64_t kv_head(const DecodeArguments& a, int64_t head) { return head / a.group; }
  static void write(const DecodeArguments& a, int64_t request, int64_t head, const Attended& attended) {
    for (int64_t d = 0; d < a.columns; ++d) a.out.set(request * a.heads() + head, d, attended.result(d));
  }
};

template <class Fault>
constexpr assay_variant decode_variant() {
  assay_variant variant = variant_of("attention.decode", Fault::flags);
  variant.entry.attention_decode = Fault::entry;
  if constexpr (requires { &Fault::workspace; }) variant.workspace = &Fault::workspace;
  return variant;
}

}  // namespace faulty

#define FAULTY_DECODE(fault) FAULTY_LIBRARY(faulty::decode_variant<fault>())
