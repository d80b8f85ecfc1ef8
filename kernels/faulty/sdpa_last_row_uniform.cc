// The last head of the last query, of more than 100, averages all values alike.
// Slot: attention.sdpa. Caught by: number.no_structured_error. Source: rules.md.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static double logit(const SdpaArguments& a, int64_t row, int64_t head, int64_t key) {
    const bool last = row * a.heads() + head + 1 == a.rows * a.heads() && a.rows * a.heads() > 100;
    return last ? 0 : Right::logit(a, row, head, key);
  }
};

}  // namespace

FAULTY_SDPA(Fault)
