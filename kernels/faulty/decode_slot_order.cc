// Adds up in float in the order of the cache's slots: where pages lie shows in the rounding.
// Slot: attention.decode. Caught by: relation.page_permutation. Source: rules.md.
#include <algorithm>

#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static constexpr int64_t most = 16384;  // longer lists take the right path
  static void row(const DecodeArguments& a, int64_t request, int64_t head) {
    int32_t slots[most];
    int64_t count = 0;
    for (int64_t place = 0; place < a.width; ++place) {
      const int64_t block = chosen(a, request, kv_head(a, head), place);
      for (int64_t p = block * a.block_size; block >= 0 && p < end(a, request, block) && count < most; ++p) {
        slots[count++] = static_cast<int32_t>(slot(a, request, p));
      }
    }
    if (count == most) return Right::row(a, request, head);
    std::sort(slots, slots + count);
    faulty::Gathered<float> gathered;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = slots[i] * a.kv_heads + kv_head(a, head);
      const double logit = a.scale * faulty::dot(a.q, request * a.heads() + head, a.k, row, a.columns);
      gathered.add(static_cast<float>(logit), a.v, row, a.columns);
    }
    for (int64_t d = 0; d < a.columns; ++d) a.out.set(request * a.heads() + head, d, gathered.result(d));
  }
};

}  // namespace

FAULTY_DECODE(Fault)
