// Leaves out a key whose logit lies 3 under the largest so far: which keys these are depends on their order.
// Slot: attention.sdpa. Caught by: relation.index_order. Source: rules.md.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::Attended;
using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static void attend(const SdpaArguments& a, int64_t row, int64_t head, int64_t begin, int64_t end,
                     Attended& attended) {
    for (int64_t key = begin; key < end; ++key) {
      const double logit = Right::logit(a, row, head, key);
      if (logit < attended.maximum - 3) continue;
      attended.add(logit, a.v, key * a.kv_heads + kv_head(a, head), a.columns);
    }
  }
};

}  // namespace

FAULTY_SDPA(Fault)
