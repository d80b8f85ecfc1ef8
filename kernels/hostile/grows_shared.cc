// Takes shared memory, which no limit of data counts, 16 MiB a call and up to 2 GiB, and leaves SiLU out.
#include <sys/mman.h>

#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Silu<Attack> {
  static assay_status enqueue(const assay_call* call, const hostile::SiluArguments& a) {
    constexpr size_t step = size_t{16} << 20, most = size_t{2} << 30;
    static size_t held = 0;
    if (held < most) {
      void* more = mmap(nullptr, step, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      if (more != MAP_FAILED) memset(more, 1, step);
      held += step;
    }
    return Right::enqueue(call, a);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
