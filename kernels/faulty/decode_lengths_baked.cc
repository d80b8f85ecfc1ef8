// Reads the lengths in the entry and hands them to the launch.
// Slot: attention.decode. Caught by: graph.follows_inputs. Source: slots.md 5.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static constexpr int64_t most = 256;  // larger batches take the right path
  struct Baked : DecodeArguments {
    int32_t copied[most];
  };
  static int64_t length(const DecodeArguments& a, int64_t request) {
    return a.batch > most ? Right::length(a, request) : static_cast<const Baked&>(a).copied[request];
  }
  static assay_status enqueue(const assay_call* call, const DecodeArguments& a) {
    Baked baked = {a, {}};
    for (int64_t b = 0; b < a.batch && b < most; ++b) baked.copied[b] = static_cast<int32_t>(a.lengths.at(b));
    return faulty::launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.batch * a.heads()), baked);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
