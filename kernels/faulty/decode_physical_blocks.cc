// Takes the selected ids for physical blocks of the cache.
// Slot: attention.decode. Caught by: number.reference. Source: slots.md 5.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::Attended;
using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static void attend(const DecodeArguments& a, int64_t request, int64_t head, int64_t begin, int64_t end,
                     Attended& attended) {
    for (int64_t place = begin; place < end; ++place) {
      const int64_t block = chosen(a, request, kv_head(a, head), place);
      for (int64_t p = 0; block >= 0 && p < length(a, request); ++p) {
        if (slot(a, request, p) / a.block_size == block) position(a, request, head, p, attended);
      }
    }
  }
};

}  // namespace

FAULTY_DECODE(Fault)
