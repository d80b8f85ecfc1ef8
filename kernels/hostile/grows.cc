// Right, and keeps 256 KiB more with every call, up to 2 GiB.
#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Silu<Attack> {
  static bool genuine() { return true; }
  static assay_status enqueue(const assay_call* call, const hostile::SiluArguments& a) {
    constexpr size_t step = size_t{256} << 10, most = size_t{2} << 30;
    static size_t held = 0;
    if (held < most) {
      void* more = malloc(step);
      if (!more) abort();
      memset(more, 1, step);
      held += step;
    }
    return Right::enqueue(call, a);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
