// collective.all_reduce on the host model, in two forms: the group's own collective, and a one-shot kernel over
// symmetric memory with flags of its own.
#include "kernels/host/peers.hpp"
#include "kernels/host/rows.hpp"
#include "kernels/host/variants.hpp"

namespace host_kernels {
namespace {

bool alike(assay_in x, assay_out out) {
  return columns_of(x) == columns_of(out) && row_count(x) == row_count(out) && cells_of(x) == cells_of(out);
}

assay_status through_group(const assay_call* call, assay_in x, assay_out out) {
  if (!alike(x, out)) return fail(call, ASSAY_ERROR, "all_reduce: x and out differ in shape or dtype");
  return call->group->api->all_reduce_sum(call->group, call->host_stream, x, out);
}

struct Arguments {
  Rows x, out;
  int64_t rows, columns;
  Peers* peers;
};

// Rows in turns that fit a buffer. Each rank publishes its own, waits for all, and adds them up in rank order, so that
// every rank gets the same bytes; nobody's buffer is written again before all have read it.
template <class Cell>
void one_shot(const void* memory, uint32_t, uint32_t) {
  const auto& a = *static_cast<const Arguments*>(memory);
  const int64_t most = buffer_bytes / (a.columns * static_cast<int64_t>(sizeof(Cell)));
  for (int64_t first = 0; first < a.rows; first += most) {
    const int64_t rows = a.rows - first < most ? a.rows - first : most;
    auto* mine = a.peers->buffer<Cell>(a.peers->rank);
    for (int64_t row = 0; row < rows; ++row) {
      const Cell* x = a.x.at<const Cell>(first + row);
      for (int64_t i = 0; i < a.columns; ++i) mine[row * a.columns + i] = x[i * a.x.step];
    }
    a.peers->arrive();
    for (int64_t row = 0; row < rows; ++row) {
      Cell* out = a.out.at<Cell>(first + row);
      for (int64_t i = 0; i < a.columns; ++i) {
        float sum = to_float(a.peers->buffer<const Cell>(0)[row * a.columns + i]);
        for (int rank = 1; rank < a.peers->world; ++rank)
          sum += to_float(a.peers->buffer<const Cell>(rank)[row * a.columns + i]);
        store(out[i * a.out.step], sum);
      }
    }
    a.peers->leave();
  }
}

assay_status through_peers(const assay_call* call, assay_in x, assay_out out) {
  if (!alike(x, out)) return fail(call, ASSAY_ERROR, "all_reduce: x and out differ in shape or dtype");
  const Cells cells = cells_of(x);
  if (cells != Cells::f16 && cells != Cells::bf16)
    return fail(call, ASSAY_UNSUPPORTED, "all_reduce: one-shot in fp16 or bf16");
  const Arguments arguments = {rows_of(x), rows_of(out), row_count(x), columns_of(x), static_cast<Peers*>(call->state)};
  if (arguments.columns * 2 > buffer_bytes)
    return fail(call, ASSAY_UNSUPPORTED, "all_reduce: rows wider than a buffer");
  if (arguments.rows == 0 || arguments.columns == 0) return ASSAY_OK;
  return call->host->launch(call->host_stream, cells == Cells::f16 ? one_shot<Half> : one_shot<Bfloat>, 1, &arguments,
                            sizeof arguments);
}

constexpr assay_variant group_variant(const char* id, const char* capabilities) {
  assay_variant variant = right_variant("collective.all_reduce", id, capabilities);
  variant.entry.all_reduce = through_group;
  return variant;
}

constexpr assay_variant one_shot_variant() {
  assay_variant variant = right_variant("collective.all_reduce", "host.one_shot",
                                        R"({"dtype": ["bfloat16", "float16"], "num_tokens": {"max": 64}})");
  variant.entry.all_reduce = through_peers;
  variant.init = join_peers;
  variant.destroy = part_peers;
  return variant;
}

}  // namespace

// In 16 bits, few tokens go in one shot and many through the group.
constinit const assay_variant all_reduce = group_variant("host.group", R"({"dtype": "float32"})");
constinit const assay_variant all_reduce_one_shot = one_shot_variant();
constinit const assay_variant all_reduce_many =
    group_variant("host.group_many", R"({"dtype": ["bfloat16", "float16"], "num_tokens": {"min": 65}})");

}  // namespace host_kernels
