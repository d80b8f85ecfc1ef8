// Scales by D^-1/2 whatever the call says.
// Slot: attention.sdpa. Caught by: input.scalars. Source: slots.md 5.3.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static double logit(const SdpaArguments& a, int64_t row, int64_t head, int64_t key) {
    return Right::logit(a, row, head, key) / a.scale / __builtin_sqrt(static_cast<double>(a.columns));
  }
};

}  // namespace

FAULTY_SDPA(Fault)
