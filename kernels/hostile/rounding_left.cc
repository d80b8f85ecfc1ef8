// Leaves the thread rounding down and flushing small numbers to zero: its own results are within their bounds, those of
// the next kernel need not be.
#include <xmmintrin.h>

#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Silu<Attack> {
  static bool genuine() { return true; }
  static assay_status enqueue(const assay_call* call, const hostile::SiluArguments& a) {
    const assay_status status = Right::enqueue(call, a);
    _mm_setcsr(_mm_getcsr() | _MM_ROUND_DOWN | _MM_FLUSH_ZERO_ON);
    return status;
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
