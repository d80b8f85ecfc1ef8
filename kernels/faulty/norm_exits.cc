// Leaves the process with exit(0) from the entry.
// Slot: norm.rmsnorm. Caught by: verdict.attribution. Source: blame:exit.
#include <stdlib.h>

#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static assay_status enqueue(const assay_call*, const NormArguments&) { exit(0); }
};

}  // namespace

FAULTY_NORM(Fault)
