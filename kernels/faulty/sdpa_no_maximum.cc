// Takes exp of the logits in float without subtracting their maximum.
// Slot: attention.sdpa. Caught by: number.hard_values. Source: slots.md 5.3.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::Attended;
using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static void row(const SdpaArguments& a, int64_t row, int64_t head) {
    Attended attended;
    for (int64_t key = 0; key < visible(a, row); ++key) {
      const float weight = __builtin_expf(static_cast<float>(logit(a, row, head, key)));
      attended.sum += weight;
      for (int64_t d = 0; d < a.columns; ++d) {
        attended.values[d] += weight * a.v.get(key * a.kv_heads + kv_head(a, head), d);
      }
    }
    write(a, row, head, attended);
  }
};

}  // namespace

FAULTY_SDPA(Fault)
