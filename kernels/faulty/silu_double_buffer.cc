// Keeps its arguments in two alternating static blocks: the third call in flight overwrites the first.
// Slot: activation.silu_and_mul. Caught by: graph.call_count. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static inline SiluArguments pending[2];
  static void indirect(const void* memory, uint32_t block, uint32_t blocks) {
    kernel(&pending[*static_cast<const int*>(memory)], block, blocks);
  }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    static int next = 0;
    const int index = next;
    next = 1 - next;
    pending[index] = a;
    return faulty::launch(call, call->host_stream, indirect, host_kernels::blocks_for(a.rows), index);
  }
};

}  // namespace

FAULTY_SILU(Fault)
