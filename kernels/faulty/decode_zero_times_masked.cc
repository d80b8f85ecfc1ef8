// Multiplies what the length cuts off by a weight of zero instead of leaving it out.
// Slot: attention.decode. Caught by: input.bounds. Source: slots.md 4.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::Attended;
using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static void attend(const DecodeArguments& a, int64_t request, int64_t head, int64_t begin, int64_t end,
                     Attended& attended) {
    Right::attend(a, request, head, begin, end, attended);
    for (int64_t place = begin; place < end; ++place) {
      const int64_t block = chosen(a, request, kv_head(a, head), place), full = (block + 1) * a.block_size;
      for (int64_t p = length(a, request); block >= 0 && p / a.block_size == block && p < full && p < a.capacity; ++p) {
        const int64_t row = slot(a, request, p) * a.kv_heads + kv_head(a, head);
        for (int64_t d = 0; d < a.columns; ++d) attended.values[d] += 0 * a.v.get(row, d);
      }
    }
  }
};

}  // namespace

FAULTY_DECODE(Fault)
