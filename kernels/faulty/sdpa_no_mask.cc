// Leaves the causal mask out.
// Slot: attention.sdpa. Caught by: number.reference. Source: slots.md 5.3.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static int64_t visible(const SdpaArguments& a, int64_t) { return a.keys; }
};

}  // namespace

FAULTY_SDPA(Fault)
