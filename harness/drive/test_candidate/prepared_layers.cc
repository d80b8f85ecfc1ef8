// prepared_layers.cc: the candidate of prepared_drive_test.cc, a small slot with weights that no catalogue has: where a
// row's gate is set, out = x * w13 + w2 by column, from what prepare copied; else zeros, and x is not read. Variants
// are right but for what their ids say. The two counters are for a test in the worker's own process.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "assay/abi.h"

extern "C" {
ASSAY_EXPORT std::atomic<int> assay_test_prepares{0}, assay_test_releases{0};
}

namespace {

enum class Misdeed {
  none,
  shares,
  sets_environment,
  starts_thread,
  hoards,
  writes_weights,
  refuses,
  refuses_calls,
  multiplies_by_gate
};

struct Layer {
  int64_t width;
  float cells[1];  // w13, then w2
};

struct Arguments {
  const float* x;
  const int32_t* gate;
  float* out;
  const Layer* layer;
  int64_t pitch;  // of out, in elements
  bool multiplies;
};

std::atomic<const Layer*> last_layer{nullptr};

void kernel(const void* memory, uint32_t block, uint32_t) {
  const auto& a = *static_cast<const Arguments*>(memory);
  const int64_t width = a.layer->width, row = block;
  const float* scale = a.layer->cells;
  const float* shift = scale + width;
  for (int64_t i = 0; i < width; ++i) {
    float value = 0;
    if (a.gate[row] || a.multiplies) value = a.x[row * width + i] * scale[i] + shift[i];
    if (a.multiplies) value *= static_cast<float>(a.gate[row]);
    a.out[row * a.pitch + i] = value;
  }
}

template <Misdeed misdeed>
assay_status run(const assay_call* call, assay_in x, assay_in gate, const void* prepared, assay_out out) {
  if (misdeed == Misdeed::refuses_calls) return ASSAY_ERROR;
  const auto* layer = static_cast<const Layer*>(prepared);
  if (misdeed == Misdeed::shares) layer = last_layer;
  if (x->shape[0] == 0) return ASSAY_OK;
  const Arguments arguments = {static_cast<const float*>(x->data),
                               static_cast<const int32_t*>(gate->data),
                               static_cast<float*>(out->data),
                               layer,
                               out->strides[0],
                               misdeed == Misdeed::multiplies_by_gate};
  return call->host->launch(call->host_stream, kernel, static_cast<uint32_t>(x->shape[0]), &arguments,
                            sizeof arguments);
}

void* sleeps(void*) {
  for (;;) pause();
  return nullptr;
}

template <Misdeed misdeed>
assay_status prepare(const assay_call* call, const assay_moe_weights* weights, void** prepared) {
  if (misdeed == Misdeed::refuses) {
    strncpy(call->error, "no room for another layer", call->error_bytes - 1);
    return ASSAY_ERROR;
  }
  const bool named = !strcmp(weights->form, "dense") && !strcmp(weights->activation, "silu") && weights->top_k == 3 &&
                     weights->hidden_size == weights->w13->shape[0] && !weights->w13_scale && !weights->a2_inv;
  if (weights->size < sizeof *weights || !named || call->state || call->group) return ASSAY_ERROR;
  const int64_t width = weights->w13->shape[0];
  const size_t row = static_cast<size_t>(width) * sizeof(float);
  void* memory = nullptr;
  if (call->host->allocate(&memory, sizeof(Layer) + 2 * row) != ASSAY_OK) return ASSAY_ERROR;
  auto* layer = static_cast<Layer*>(memory);
  layer->width = width;
  memcpy(layer->cells, weights->w13->data, row);
  memcpy(layer->cells + width, weights->w2->data, row);
  if (misdeed == Misdeed::sets_environment) {
    const char value[] = {static_cast<char>('a' + assay_test_prepares % 26), 0};
    setenv("PREPARED_LAYERS", value, 1);
  }
  pthread_t thread;
  if (misdeed == Misdeed::starts_thread && !pthread_create(&thread, nullptr, sleeps, nullptr)) pthread_detach(thread);
  if (misdeed == Misdeed::hoards) {
    static void* volatile kept;  // volatile: what nobody reads is else never allocated
    kept = malloc(8 << 20);
    memset(kept, 1, 8 << 20);
  }
  if (misdeed == Misdeed::writes_weights) static_cast<float*>(weights->w2->data)[0] = 0;
  if (misdeed == Misdeed::shares) {
    void* copy = malloc(sizeof(Layer) + 2 * row);  // outlives the release of what it is a copy of
    last_layer = static_cast<Layer*>(memcpy(copy, layer, sizeof(Layer) + 2 * row));
  }
  ++assay_test_prepares;
  *prepared = layer;
  return ASSAY_OK;
}

assay_status release(const assay_call* call, void* prepared) {
  ++assay_test_releases;
  return call->host->release(prepared);
}

template <Misdeed misdeed>
assay_variant described(const char* id) {
  using Entry = assay_status (*)(const assay_call*, assay_in, assay_in, const void*, assay_out);
  assay_variant v{};
  v.size = sizeof v;
  v.flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;
  v.device_type = kDLCPU;
  v.slot = "test.layers";
  v.id = id;
  v.signature = "iipo";
  v.entry.any = ASSAY_ANY(Entry, run<misdeed>);
  v.prepare = prepare<misdeed>;
  v.release = release;
  return v;
}

}  // namespace

extern "C" ASSAY_EXPORT const assay_library* assay_get_library(uint32_t version) {
  static const assay_variant table[] = {
      described<Misdeed::none>("right"),
      described<Misdeed::shares>("shares"),
      described<Misdeed::sets_environment>("sets environment"),
      described<Misdeed::starts_thread>("starts thread"),
      described<Misdeed::hoards>("hoards"),
      described<Misdeed::writes_weights>("writes weights"),
      described<Misdeed::refuses>("refuses"),
      described<Misdeed::refuses_calls>("refuses calls"),
      described<Misdeed::multiplies_by_gate>("multiplies by gate"),
  };
  constexpr uint32_t count = sizeof table / sizeof *table;
  static const assay_variant* const all[count] = {table,     table + 1, table + 2, table + 3, table + 4,
                                                  table + 5, table + 6, table + 7, table + 8};
  static const assay_library library = {sizeof library, ASSAY_ABI_VERSION, "prepared layers", "1", all, count};
  return version == ASSAY_ABI_VERSION ? &library : nullptr;
}
