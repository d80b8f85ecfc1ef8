// Splits the selection in 8 and merges without a guard: -inf minus -inf where the first split is empty.
// Slot: attention.decode. Caught by: number.finite. Source: FAULT-008.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::Attended;
using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static void row(const DecodeArguments& a, int64_t request, int64_t head) {
    Attended merged;
    for (int64_t split = 0; split < 8; ++split) {
      Attended part;
      attend(a, request, head, split * a.width / 8, (split + 1) * a.width / 8, part);
      const double highest = part.maximum > merged.maximum ? part.maximum : merged.maximum;
      merged.scale(__builtin_exp(merged.maximum - highest), a.columns);
      part.scale(__builtin_exp(part.maximum - highest), a.columns);
      merged.maximum = highest;
      merged.sum += part.sum;
      for (int64_t d = 0; d < a.columns; ++d) merged.values[d] += part.values[d];
    }
    for (int64_t d = 0; d < a.columns; ++d) a.out.set(request * a.heads() + head, d, merged.values[d] / merged.sum);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
