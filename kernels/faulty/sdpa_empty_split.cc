// Splits the keys in 8 and normalises each split before the merge: a split without a key is 0/0.
// Slot: attention.sdpa. Caught by: number.finite. Source: FAULT-008.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::Attended;
using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static void row(const SdpaArguments& a, int64_t row, int64_t head) {
    Attended merged;
    const int64_t count = visible(a, row);
    for (int64_t split = 0; count > 0 && split < 8; ++split) {
      Attended part;
      attend(a, row, head, split * count / 8, (split + 1) * count / 8, part);
      for (int64_t d = 0; d < a.columns; ++d) merged.values[d] += 0 * (part.values[d] / part.sum);
      merged.merge(part, a.columns);
    }
    write(a, row, head, merged);
  }
};

}  // namespace

FAULTY_SDPA(Fault)
