// Drops a block that the length cuts.
// Slot: attention.decode. Caught by: number.reference. Source: slots.md 5.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static int64_t end(const DecodeArguments& a, int64_t request, int64_t block) {
    const int64_t full = (block + 1) * a.block_size;
    return full <= length(a, request) ? full : 0;
  }
};

}  // namespace

FAULTY_DECODE(Fault)
