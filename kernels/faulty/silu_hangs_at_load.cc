// assay_get_library never returns.
// Slot: activation.silu_and_mul. Caught by: verdict.attribution. Source: blame:load_crash.
#include "kernels/faulty/faulty.hpp"

extern "C" const assay_library* assay_get_library(uint32_t) {
  volatile bool ready = false;
  while (!ready) {
  }
  return nullptr;
}
