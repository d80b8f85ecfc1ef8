// Passes its arguments through one static block: with two calls in flight both run with those of the second.
// Slot: activation.silu_and_mul. Caught by: stream.concurrent. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static inline SiluArguments pending;
  static void indirect(const void*, uint32_t block, uint32_t blocks) { kernel(&pending, block, blocks); }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    pending = a;
    return faulty::launch(call, call->host_stream, indirect, host_kernels::blocks_for(a.rows), 0);
  }
};

}  // namespace

FAULTY_SILU(Fault)
