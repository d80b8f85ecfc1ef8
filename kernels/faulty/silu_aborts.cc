// Calls abort in the entry.
// Slot: activation.silu_and_mul. Caught by: verdict.attribution. Source: blame:crash.
#include <stdlib.h>

#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call*, const SiluArguments&) { abort(); }
};

}  // namespace

FAULTY_SILU(Fault)
