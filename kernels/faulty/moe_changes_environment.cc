// Prepare sets an environment variable.
// Slot: moe.fused_experts. Caught by: prepare.bounded. Source: slots.md 14.
#include <stdlib.h>

#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Moe<Fault> {
  static assay_status prepare(const assay_call* call, const assay_moe_weights* w, void** prepared) {
    setenv("OMP_NUM_THREADS", "1", 1);
    return Right::prepare(call, w, prepared);
  }
};

}  // namespace

FAULTY_MOE(Fault)
