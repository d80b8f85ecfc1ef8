// The diagonal is one key early: a causal row does not see its own key.
// Slot: attention.sdpa. Caught by: number.reference. Source: slots.md 5.3.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static int64_t visible(const SdpaArguments& a, int64_t row) {
    const int64_t count = Right::visible(a, row);
    return a.causal && count > 0 ? count - 1 : count;
  }
};

}  // namespace

FAULTY_SDPA(Fault)
