// Looks up the first token of a block and takes the others for its neighbours.
// Slot: attention.decode. Caught by: number.reference. Source: slots.md 4.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static int64_t slot(const DecodeArguments& a, int64_t request, int64_t position) {
    const int64_t first = Right::slot(a, request, position / a.block_size * a.block_size);
    const int64_t slot = first + position % a.block_size;
    return slot < a.cache_slots ? slot : a.cache_slots - 1;
  }
};

}  // namespace

FAULTY_DECODE(Fault)
