// Does not scale down what it gathered when the largest logit rises.
// Slot: attention.sdpa. Caught by: number.reference. Source: rules.md.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::Attended;
using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static void attend(const SdpaArguments& a, int64_t row, int64_t head, int64_t begin, int64_t end,
                     Attended& attended) {
    for (int64_t key = begin; key < end; ++key) {
      const double logit = Right::logit(a, row, head, key);
      attended.maximum = logit > attended.maximum ? logit : attended.maximum;
      attended.add(logit, a.v, key * a.kv_heads + kv_head(a, head), a.columns);
    }
  }
};

}  // namespace

FAULTY_SDPA(Fault)
