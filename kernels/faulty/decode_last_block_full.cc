// Attends all of a block that the length cuts.
// Slot: attention.decode. Caught by: number.reference and input.bounds. Source: FAULT-010.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static int64_t end(const DecodeArguments& a, int64_t request, int64_t block) {
    const int64_t full = (block + 1) * a.block_size;
    if (block * a.block_size >= length(a, request)) return 0;
    return full < a.capacity ? full : a.capacity;
  }
};

}  // namespace

FAULTY_DECODE(Fault)
