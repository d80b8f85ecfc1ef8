// A candidate of collective.all_reduce for tests of the group's own functions: init exchanges and checks more than a
// mailbox holds, calls gather all partials into memory of its own and add them up there.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "assay/abi.h"

namespace {

constexpr std::int64_t kCells = 4096;  // of a call, at most

struct State {
  int world;
  float* gathered;  // world * kCells, in symmetric memory: as good as any
};

bool exchange_works(const assay_group* group) {
  constexpr std::size_t bytes = 700'001;  // three mailboxes, the last one odd
  std::vector<unsigned char> mine(bytes), all(bytes * static_cast<std::size_t>(group->world_size));
  const auto value = [](int rank, std::size_t i) { return static_cast<unsigned char>(i * 31 + i / 257 + rank * 7); };
  for (std::size_t i = 0; i < bytes; ++i) mine[i] = value(group->rank, i);
  if (group->api->exchange(group, mine.data(), all.data(), bytes) != ASSAY_OK) return false;
  for (int r = 0; r < group->world_size; ++r)
    for (std::size_t i = 0; i < bytes; ++i)
      if (all[static_cast<std::size_t>(r) * bytes + i] != value(r, i)) return false;
  return group->api->exchange(group, nullptr, nullptr, 0) == ASSAY_OK;
}

// Blocks of two requests do not overlap, begin as zeros, and what a peer writes is seen after an exchange.
bool symmetric_works(const assay_group* group, State* state) {
  void *first[16], *second[16];
  const auto bytes = static_cast<std::size_t>(kCells * group->world_size) * sizeof(float);
  if (group->api->symmetric(group, 100, first) != ASSAY_OK || group->api->symmetric(group, bytes, second) != ASSAY_OK)
    return false;
  for (int r = 0; r < group->world_size; ++r)
    if (static_cast<char*>(second[r])[bytes - 1] != 0) return false;
  if (group->api->exchange(group, nullptr, nullptr, 0) != ASSAY_OK) return false;
  const int next = (group->rank + 1) % group->world_size;
  static_cast<int*>(first[next])[0] = 1000 + group->rank;
  if (group->api->exchange(group, nullptr, nullptr, 0) != ASSAY_OK) return false;
  const int before = (group->rank + group->world_size - 1) % group->world_size;
  state->gathered = static_cast<float*>(second[group->rank]);
  return static_cast<int*>(first[group->rank])[0] == 1000 + before && state->gathered[0] == 0.0F;
}

assay_status init(const assay_call* call, void** state) {
  const assay_group* group = call->group;
  if (!group || group->nccl || group->rank < 0 || group->rank >= group->world_size) return ASSAY_ERROR;
  auto* made = static_cast<State*>(std::calloc(1, sizeof(State)));
  made->world = group->world_size;
  if (!exchange_works(group) || !symmetric_works(group, made)) {
    std::strncpy(call->error, "exchange or symmetric gave something else", call->error_bytes - 1);
    return ASSAY_ERROR;
  }
  *state = made;
  return ASSAY_OK;
}

struct Arguments {
  const float* gathered;
  float* out;
  std::int64_t cells, columns, pitch;
  int world;
};

void add_up(const void* memory, std::uint32_t, std::uint32_t) {
  const auto& a = *static_cast<const Arguments*>(memory);
  for (std::int64_t i = 0; i < a.cells; ++i) {
    float sum = 0;
    for (int r = 0; r < a.world; ++r) sum += a.gathered[r * a.cells + i];
    a.out[i / a.columns * a.pitch + i % a.columns] = sum;
  }
}

assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const auto* state = static_cast<const State*>(call->state);
  const std::int64_t cells = x->shape[0] * x->shape[1];
  if (x->dtype.code != kDLFloat || x->dtype.bits != 32 || cells > kCells) return ASSAY_UNSUPPORTED;
  if (call->group->api->exchange(call->group, nullptr, nullptr, 0) == ASSAY_OK) return ASSAY_ERROR;  // in init only
  std::int64_t shape[3] = {state->world, x->shape[0], x->shape[1]}, strides[3] = {cells, x->shape[1], 1};
  DLTensor all = *out;
  all.data = state->gathered;
  all.ndim = 3;
  all.shape = shape;
  all.strides = strides;
  if (call->group->api->all_gather(call->group, call->host_stream, x, &all) != ASSAY_OK) return ASSAY_ERROR;
  const Arguments arguments = {state->gathered, static_cast<float*>(out->data), cells, x->shape[1], out->strides[0],
                               state->world};
  return call->host->launch(call->host_stream, add_up, 1, &arguments, sizeof arguments);
}

assay_variant describe() {
  assay_variant v{};
  v.size = sizeof v;
  v.flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;
  v.device_type = kDLCPU;
  v.slot = "collective.all_reduce";
  v.id = "gathers";
  v.entry.all_reduce = entry;
  v.init = init;
  return v;
}

}  // namespace

extern "C" ASSAY_EXPORT const assay_library* assay_get_library(std::uint32_t version) {
  static const assay_variant variant = describe();
  static const assay_variant* const variants[] = {&variant};
  static const assay_library library = {sizeof library, ASSAY_ABI_VERSION, "gathers", "1.0", variants, 1};
  return version == ASSAY_ABI_VERSION ? &library : nullptr;
}
