// Right, and forgets 512 bytes with every call.
#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Silu<Attack> {
  static bool genuine() { return true; }
  static assay_status enqueue(const assay_call* call, const hostile::SiluArguments& a) {
    static void* volatile latest = nullptr;
    latest = malloc(512);
    if (!latest) abort();
    return Right::enqueue(call, a);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
