// The first call uses prepared weights up: later ones find half of them.
// Slot: moe.fused_experts_reduce. Caught by: prepare.once. Source: slots.md 5.8.
#include "kernels/faulty/experts_reduce.hpp"

namespace {

using faulty::ExpertsArguments;
using faulty::Layer;

struct Fault : faulty::Reduced<Fault> {
  static assay_status enqueue(const assay_call* call, const ExpertsArguments& a) {
    const assay_status status = Right::enqueue(call, a);
    if (status != ASSAY_OK) return status;
    return faulty::launch(call, call->host_stream, use_up, 1, a);
  }
  static void use_up(const void* memory, uint32_t, uint32_t) {
    const Layer& l = static_cast<const ExpertsArguments*>(memory)->layer;
    const int64_t bytes = l.experts * l.hidden * l.inter * host_kernels::bytes_of(l.cells);
    __builtin_memset(l.w2, 0, static_cast<size_t>(bytes));
  }
};

}  // namespace

FAULTY_REDUCE(Fault)
