// Packs the selection at a pitch that follows the longest request, and reads it at the pitch of the captured call.
// Slot: attention.decode. Caught by: graph.follows_inputs. Source: FAULT-031.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  struct Packed : DecodeArguments {
    int32_t* blocks;
    int64_t pitch;
  };
  static assay_status workspace(const assay_call*, const DLTensor* const* tensors, uint32_t, size_t* bytes) {
    const int64_t* selected = tensors[6]->shape;
    *bytes = static_cast<size_t>(selected[0] * selected[1] * selected[2]) * sizeof(int32_t);
    return ASSAY_OK;
  }
  static int64_t live_pitch(const DecodeArguments& a) {
    int64_t longest = 0;
    for (int64_t b = 0; b < a.batch; ++b) longest = a.lengths.at(b) > longest ? a.lengths.at(b) : longest;
    const int64_t blocks = (longest + a.block_size - 1) / a.block_size;
    return blocks < a.width ? blocks : a.width;
  }
  static void pack(const void* memory, uint32_t, uint32_t) {
    const auto& a = *static_cast<const Packed*>(memory);
    const int64_t pitch = live_pitch(a);
    for (int64_t i = 0; i < a.kv_heads * a.batch * a.width; ++i) a.blocks[i] = -1;
    for (int64_t list = 0; list < a.kv_heads * a.batch; ++list) {
      int32_t* packed = a.blocks + list * pitch;
      for (int64_t place = 0; place < a.width; ++place) {
        const int64_t block = Right::chosen(a, list % a.batch, list / a.batch, place);
        const bool holds = block >= 0 && block * a.block_size < length(a, list % a.batch);
        if (holds) *packed++ = static_cast<int32_t>(block);
      }
    }
  }
  static int64_t chosen(const DecodeArguments& a, int64_t request, int64_t kv_head, int64_t place) {
    const auto& packed = static_cast<const Packed&>(a);
    return place < packed.pitch ? packed.blocks[(kv_head * a.batch + request) * packed.pitch + place] : -1;
  }
  static assay_status enqueue(const assay_call* call, const DecodeArguments& a) {
    const Packed packed = {a, static_cast<int32_t*>(call->workspace), live_pitch(a)};
    const assay_status status = faulty::launch(call, call->host_stream, pack, 1, packed);
    if (status != ASSAY_OK) return status;
    return faulty::launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.batch * a.heads()), packed);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
