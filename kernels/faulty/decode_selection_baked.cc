// Reads the selection in the entry and hands it to the launch.
// Slot: attention.decode. Caught by: graph.follows_inputs. Source: slots.md 5.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static constexpr int64_t most = 4096;  // larger selections take the right path
  struct Baked : DecodeArguments {
    int32_t copied[most];
  };
  static bool fits(const DecodeArguments& a) { return a.kv_heads * a.batch * a.width <= most; }
  static int64_t chosen(const DecodeArguments& a, int64_t request, int64_t kv_head, int64_t place) {
    if (!fits(a)) return Right::chosen(a, request, kv_head, place);
    return static_cast<const Baked&>(a).copied[(kv_head * a.batch + request) * a.width + place];
  }
  static assay_status enqueue(const assay_call* call, const DecodeArguments& a) {
    Baked baked = {a, {}};
    for (int64_t i = 0; fits(a) && i < a.kv_heads * a.batch * a.width; ++i) baked.copied[i] = a.selected.data[i];
    return faulty::launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.batch * a.heads()), baked);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
