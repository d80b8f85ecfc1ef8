// Hands its splits from the first kernel to the second through static memory, which calls on other streams share.
// Slot: attention.decode. Caught by: stream.concurrent. Source: rules.md.
#include <unistd.h>

#include "kernels/faulty/decode.hpp"

namespace {

using faulty::Attended;
using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static constexpr int64_t most = 1024;  // more rows take the right path
  static inline Attended partials[most];
  static void split(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const DecodeArguments*>(memory);
    const auto range = host_kernels::rows_of_block(a.batch * a.heads(), block, blocks);
    for (int64_t row = range.begin; row < range.end; ++row) {
      partials[row] = {};
      attend(a, row / a.heads(), row % a.heads(), 0, a.width, partials[row]);
    }
  }
  // Stands for the work that a longer kernel would do between the two, so that
  // two streams really overlap.
  static void wait_a_millisecond(const void*, uint32_t, uint32_t) { usleep(1000); }
  static void row(const DecodeArguments& a, int64_t request, int64_t head) {
    if (a.batch * a.heads() > most) return Right::row(a, request, head);
    write(a, request, head, partials[request * a.heads() + head]);
  }
  static assay_status enqueue(const assay_call* call, const DecodeArguments& a) {
    if (a.batch * a.heads() <= most) {
      faulty::launch(call, call->host_stream, split, host_kernels::blocks_for(a.batch * a.heads()), a);
      faulty::launch(call, call->host_stream, wait_a_millisecond, 1, 0);
    }
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
