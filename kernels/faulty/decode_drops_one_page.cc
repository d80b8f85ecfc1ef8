// Right but for the last page of the cache, which it leaves out.
// Slot: attention.decode. Caught by: number.no_structured_error. Source: rules.md.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::Attended;
using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static void position(const DecodeArguments& a, int64_t request, int64_t head, int64_t position, Attended& attended) {
    if (slot(a, request, position) < a.cache_slots - a.block_size)
      Right::position(a, request, head, position, attended);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
