// Turns -1 into block 0, whose tokens then count.
// Slot: attention.decode. Caught by: number.reference and input.bounds. Source: FAULT-009.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static int64_t chosen(const DecodeArguments& a, int64_t request, int64_t kv_head, int64_t place) {
    const int64_t block = Right::chosen(a, request, kv_head, place);
    return block < 0 ? 0 : block;
  }
};

}  // namespace

FAULTY_DECODE(Fault)
