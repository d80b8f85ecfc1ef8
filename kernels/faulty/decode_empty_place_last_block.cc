// Turns -1 into the request's last block.
// Slot: attention.decode. Caught by: number.reference. Source: slots.md 5.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static int64_t chosen(const DecodeArguments& a, int64_t request, int64_t kv_head, int64_t place) {
    const int64_t block = Right::chosen(a, request, kv_head, place);
    return block < 0 ? (length(a, request) - 1) / a.block_size : block;
  }
};

}  // namespace

FAULTY_DECODE(Fault)
