// Reads the first key in the entry: a replay meets the one of its capture.
// Slot: attention.sdpa. Caught by: graph.follows_inputs. Source: slots.md 1.2.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::SdpaArguments;

struct WithKey : SdpaArguments {
  double key[faulty::max_columns];
};

struct Fault : faulty::Sdpa<Fault> {
  static assay_status enqueue(const assay_call* call, const SdpaArguments& a) {
    WithKey own{a, {}};
    for (int64_t d = 0; a.keys > 0 && d < a.columns; ++d) own.key[d] = a.k.get(0, d);
    return faulty::launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.rows * a.heads()), own);
  }
  static double logit(const SdpaArguments& a, int64_t row, int64_t head, int64_t key) {
    if (key != 0 || kv_head(a, head) != 0) return Right::logit(a, row, head, key);
    double sum = 0;
    for (int64_t d = 0; d < a.columns; ++d)
      sum += a.q.get(row * a.heads() + head, d) * static_cast<const WithKey&>(a).key[d];
    return a.scale * sum;
  }
};

}  // namespace

FAULTY_SDPA(Fault)
