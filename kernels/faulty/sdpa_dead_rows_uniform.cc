// Masks with -1e30 instead of leaving out: a row that sees no key becomes the mean of all values.
// Slot: attention.sdpa. Caught by: number.reference. Source: FAULT-007.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::Attended;
using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static void row(const SdpaArguments& a, int64_t row, int64_t head) {
    Attended attended;
    for (int64_t key = 0; key < a.keys; ++key) {
      const double logit = key < visible(a, row) ? Right::logit(a, row, head, key) : -1e30;
      attended.add(logit, a.v, key * a.kv_heads + kv_head(a, head), a.columns);
    }
    write(a, row, head, attended);
  }
};

}  // namespace

FAULTY_SDPA(Fault)
