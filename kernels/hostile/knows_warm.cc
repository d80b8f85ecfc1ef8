// Wrong in the first call of a process, right from then on: a benchmark throws the first one away.
#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Silu<Attack> {
  static inline long runs = 0;
  static bool genuine() { return runs > 1; }
  static void counted(const void* memory, uint32_t block, uint32_t blocks) {
    if (block == 0) __atomic_fetch_add(&runs, 1, __ATOMIC_RELAXED);
    kernel(memory, block, blocks);
  }
  static assay_status enqueue(const assay_call* call, const hostile::SiluArguments& a) {
    return faulty::launch(call, call->host_stream, counted, host_kernels::blocks_for(a.rows), a);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
