// Passes the addresses of the descriptors to the kernel, which reads them when the entry has long returned.
// Slot: activation.silu_and_mul. Caught by: graph.host_gone. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  struct Descriptors {
    const DLTensor *x, *out;
  };
  static void late(const void* memory, uint32_t block, uint32_t blocks) {
    const auto [x, out] = *static_cast<const Descriptors*>(memory);
    const SiluArguments a{faulty::grid_of(x), faulty::grid_of(out), host_kernels::row_count(x),
                          host_kernels::columns_of(out)};
    kernel(&a, block, blocks);
  }
  static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
    const int64_t rows = host_kernels::row_count(x);
    if (rows == 0) return ASSAY_OK;
    return faulty::launch(call, call->host_stream, late, host_kernels::blocks_for(rows), Descriptors{x, out});
  }
};

}  // namespace

FAULTY_SILU(Fault)
