// sdpa.hpp: the right kernel of attention.sdpa in a form in which one property can be broken in a few lines.
//
// Promises: as faulty.hpp: with nothing overridden FAULTY_SDPA makes a library that passes every rule.
// Who uses it: the sdpa_*.cc of this folder.
//
//   struct Fault : faulty::Sdpa<Fault> {
//     static int64_t visible(const SdpaArguments& a, int64_t) { return a.keys; }   // no mask
//   };
//   FAULTY_SDPA(Fault)
#pragma once

#include "kernels/faulty/attended.hpp"

namespace faulty {

// Row t * heads() + h of q and out, s * kv_heads + j of k and v.
struct SdpaArguments {
  Grid q, k, v, out;
  int64_t rows, keys, kv_heads, group, columns;
  double scale;
  bool causal;

  [[nodiscard]] int64_t heads() const { return kv_heads * group; }
};

// Members in the order of a call: entry -> enqueue -> (kernel -> row -> attend -> visible, kv_head, logit; write).
template <class Self>
struct Sdpa {
  using Right = Sdpa;
  static constexpr uint32_t flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;

  static assay_status entry(const assay_call* call, assay_in q, assay_in k, assay_in v, assay_out out, double scale,
                            int32_t causal) {
    const SdpaArguments a = {grid_of(q),  grid_of(k),  grid_of(v),  grid_of(out),
                             q->shape[0], k->shape[0], k->shape[1], q->shape[1] / k->shape[1],
                             q->shape[2], scale,       causal != 0};
    if (a.columns > max_columns) return fail(call, ASSAY_UNSUPPORTED, "head dims up to 256");
    return a.rows == 0 ? ASSAY_OK : Self::enqueue(call, a);
  }
  static assay_status enqueue(const assay_call* call, const SdpaArguments& a) {
    return launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.rows * a.heads()), a);
  }
  static void kernel(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const SdpaArguments*>(memory);
    const auto range = host_kernels::rows_of_block(a.rows * a.heads(), block, blocks);
    for (int64_t row = range.begin; row < range.end; ++row) Self::row(a, row / a.heads(), row % a.heads());
  }
  static void row(const SdpaArguments& a, int64_t row, int64_t head) {
    Attended attended;
    Self::attend(a, row, head, 0, Self::visible(a, row), attended);
    Self::write(a, row, head, attended);
  }
  static void attend(const SdpaArguments& a, int64_t row, int64_t head, int64_t begin, int64_t end,
                     Attended& attended) {
    const int64_t kv_head = Self::kv_head(a, head);
    for (int64_t key = begin; key < end; ++key) {
      attended.add(Self::logit(a, row, head, key), a.v, key * a.kv_heads + kv_head, a.columns);
    }
  }
  static int64_t visible(const SdpaArguments& a, int64_t row) {
    const int64_t count = a.causal ? row + a.keys - a.rows + 1 : a.keys;
    return count < 0 ? 0 : count;
  }
  static int64_t kv_head(const SdpaArguments& a, int64_t head) { return head / a.group; }
  static double logit(const SdpaArguments& a, int64_t row, int64_t head, int64_t key) {
    return a.scale * dot(a.q, row * a.heads() + head, a.k, key * a.kv_heads + Self::kv_head(a, head), a.columns);
  }
  static void write(const SdpaArguments& a, int64_t row, int64_t head, const Attended& attended) {
    for (int64_t d = 0; d < a.columns; ++d) a.out.set(row * a.heads() + head, d, attended.result(d));
  }
};

template <class Fault>
constexpr assay_variant sdpa_variant() {
  assay_variant variant = variant_of("attention.sdpa", Fault::flags);
  variant.entry.attention = Fault::entry;
  return variant;
}

}  // namespace faulty

#define FAULTY_SDPA(fault) FAULTY_LIBRARY(faulty::sdpa_variant<fault>())
