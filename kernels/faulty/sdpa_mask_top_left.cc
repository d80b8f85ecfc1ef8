// Anchors the causal mask at the first key although the queries are the tail of the keys.
// Slot: attention.sdpa. Caught by: number.reference. Source: FAULT-006.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static int64_t visible(const SdpaArguments& a, int64_t row) {
    return a.causal && row + 1 < a.keys ? row + 1 : a.keys;
  }
};

}  // namespace

FAULTY_SDPA(Fault)
