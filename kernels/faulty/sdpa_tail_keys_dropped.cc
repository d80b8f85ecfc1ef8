// Above 64 keys it attends whole tiles of 64 and drops the rest.
// Slot: attention.sdpa. Caught by: number.extremes. Source: rules.md.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static int64_t visible(const SdpaArguments& a, int64_t row) {
    const int64_t count = Right::visible(a, row), whole = a.keys / 64 * 64;
    return a.keys > 64 && count > whole ? whole : count;
  }
};

}  // namespace

FAULTY_SDPA(Fault)
