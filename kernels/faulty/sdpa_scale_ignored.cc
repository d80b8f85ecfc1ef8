// Leaves sm_scale out.
// Slot: attention.sdpa. Caught by: number.reference. Source: slots.md 5.3.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static double logit(const SdpaArguments& a, int64_t row, int64_t head, int64_t key) {
    return Right::logit(a, row, head, key) / a.scale;
  }
};

}  // namespace

FAULTY_SDPA(Fault)
