// Does the work in the entry and launches nothing.
// Slot: norm.rmsnorm. Caught by: stream.ordered. Source: design.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static assay_status enqueue(const assay_call*, const NormArguments& a) {
    const uint32_t blocks = host_kernels::blocks_for(a.rows);
    for (uint32_t block = 0; block < blocks; ++block) kernel(&a, block, blocks);
    return ASSAY_OK;
  }
};

}  // namespace

FAULTY_NORM(Fault)
