// Cuts only the last place of the selection at the length, where a sorted list has its last block.
// Slot: attention.decode. Caught by: relation.index_order. Source: slots.md 5.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::Attended;
using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static void attend(const DecodeArguments& a, int64_t request, int64_t head, int64_t begin, int64_t end,
                     Attended& attended) {
    int64_t last = end - 1;
    while (last > begin && chosen(a, request, kv_head(a, head), last) < 0) --last;
    for (int64_t place = begin; place < end; ++place) {
      const int64_t block = chosen(a, request, kv_head(a, head), place), full = (block + 1) * a.block_size;
      const int64_t until = place == last ? length(a, request) : a.capacity;
      for (int64_t p = block * a.block_size; block >= 0 && p < (full < until ? full : until); ++p) {
        position(a, request, head, p, attended);
      }
    }
  }
};

}  // namespace

FAULTY_DECODE(Fault)
