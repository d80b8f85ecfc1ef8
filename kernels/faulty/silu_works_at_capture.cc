// Does the work in the entry and launches it once more.
// Slot: activation.silu_and_mul. Caught by: graph.nothing_runs_at_capture. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    const uint32_t blocks = host_kernels::blocks_for(a.rows);
    for (uint32_t block = 0; block < blocks; ++block) kernel(&a, block, blocks);
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_SILU(Fault)
