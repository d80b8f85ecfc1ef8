// Splits small batches more than large ones and merges in float: a request rounds as the size of its batch says.
// Slot: attention.decode. Caught by: relation.row_independence. Source: rules.md.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static void row(const DecodeArguments& a, int64_t request, int64_t head) {
    const int64_t splits = a.batch < 8 ? 8 / a.batch : 1;
    faulty::Gathered<float> merged;
    for (int64_t split = 0; split < splits; ++split) {
      faulty::Gathered<float> part;
      for (int64_t place = split * a.width / splits; place < (split + 1) * a.width / splits; ++place) {
        const int64_t block = chosen(a, request, kv_head(a, head), place);
        for (int64_t p = block * a.block_size; block >= 0 && p < end(a, request, block); ++p) {
          const int64_t row = slot(a, request, p) * a.kv_heads + kv_head(a, head);
          const double logit = a.scale * faulty::dot(a.q, request * a.heads() + head, a.k, row, a.columns);
          part.add(static_cast<float>(logit), a.v, row, a.columns);
        }
      }
      merged.merge(part, a.columns);
    }
    for (int64_t d = 0; d < a.columns; ++d) a.out.set(request * a.heads() + head, d, merged.result(d));
  }
};

}  // namespace

FAULTY_DECODE(Fault)
