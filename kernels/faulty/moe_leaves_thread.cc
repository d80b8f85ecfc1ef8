// Prepare starts a thread that outlives it.
// Slot: moe.fused_experts. Caught by: prepare.bounded. Source: slots.md 14.
#include <pthread.h>
#include <unistd.h>

#include "kernels/faulty/moe.hpp"

namespace {

void* wait(void*) {
  for (;;) pause();
}

struct Fault : faulty::Moe<Fault> {
  static assay_status prepare(const assay_call* call, const assay_moe_weights* w, void** prepared) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, wait, nullptr) == 0) pthread_detach(thread);
    return Right::prepare(call, w, prepared);
  }
};

}  // namespace

FAULTY_MOE(Fault)
