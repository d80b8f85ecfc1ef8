// Masks with -1e30 instead of leaving out: a request that attends nothing becomes the mean of its values.
// Slot: attention.decode. Caught by: number.reference. Source: FAULT-007.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::Attended;
using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static void row(const DecodeArguments& a, int64_t request, int64_t head) {
    Attended attended;
    attend(a, request, head, 0, a.width, attended);
    for (int64_t p = 0; p < a.capacity && !(attended.maximum > -1e30); ++p) {
      attended.add(-1e30, a.v, slot(a, request, p) * a.kv_heads + kv_head(a, head), a.columns);
    }
    write(a, request, head, attended);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
