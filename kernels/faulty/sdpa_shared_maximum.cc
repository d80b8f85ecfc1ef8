// Subtracts the larger maximum of two neighbouring rows in float: a row rounds as its neighbour says.
// Slot: attention.sdpa. Caught by: relation.row_independence. Source: rules.md.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static void row(const SdpaArguments& a, int64_t row, int64_t head) {
    float highest = -__builtin_inff();
    for (int64_t other = row / 2 * 2; other < a.rows && other < row / 2 * 2 + 2; ++other) {
      for (int64_t key = 0; key < visible(a, other); ++key) {
        const auto logit = static_cast<float>(Right::logit(a, other, head, key));
        highest = logit > highest ? logit : highest;
      }
    }
    faulty::Gathered<float> gathered;
    gathered.maximum = highest;
    for (int64_t key = 0; key < visible(a, row); ++key) {
      gathered.add(static_cast<float>(Right::logit(a, row, head, key)), a.v, key * a.kv_heads + kv_head(a, head),
                   a.columns);
    }
    for (int64_t d = 0; d < a.columns; ++d) a.out.set(row * a.heads() + head, d, gathered.result(d));
  }
};

}  // namespace

FAULTY_SDPA(Fault)
