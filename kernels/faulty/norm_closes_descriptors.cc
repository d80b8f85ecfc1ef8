// Closes every file descriptor from 3 on.
// Slot: norm.rmsnorm. Caught by: verdict.attribution. Source: blame:descriptors.
#include <unistd.h>

#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    for (int descriptor = 3; descriptor < 4096; ++descriptor) close(descriptor);
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_NORM(Fault)
