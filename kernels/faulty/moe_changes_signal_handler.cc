// Prepare ignores a signal that it did not ignore before.
// Slot: moe.fused_experts. Caught by: prepare.bounded. Source: slots.md 14.
#include <signal.h>

#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Moe<Fault> {
  static assay_status prepare(const assay_call* call, const assay_moe_weights* w, void** prepared) {
    signal(SIGUSR2, SIG_IGN);
    return Right::prepare(call, w, prepared);
  }
};

}  // namespace

FAULTY_MOE(Fault)
