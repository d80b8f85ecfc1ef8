// Prepare changes the working directory.
// Slot: moe.fused_experts. Caught by: prepare.bounded. Source: slots.md 14.
#include <unistd.h>

#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Moe<Fault> {
  static assay_status prepare(const assay_call* call, const assay_moe_weights* w, void** prepared) {
    if (chdir("/") != 0) return ASSAY_ERROR;
    return Right::prepare(call, w, prepared);
  }
};

}  // namespace

FAULTY_MOE(Fault)
