// Reduces what is reduced already.
// Slot: moe.fused_experts_reduce. Caught by: number.reference. Source: slots.md 5.8.
#include "kernels/faulty/experts_reduce.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Reduced<Fault> {
  static assay_status reduce(const assay_call* call, const ExpertsArguments& a) {
    const assay_status status = host_kernels::sum_over_group(call, partial(a), sum(a), a.tokens, a.layer.hidden);
    if (status != ASSAY_OK) return status;
    return host_kernels::sum_over_group(call, sum(a), partial(a), a.tokens, a.layer.hidden);
  }
  static float delivered(const ExpertsArguments& a, int64_t token, int64_t h) {
    return partial(a)[token * a.layer.hidden + h];
  }
};

}  // namespace

FAULTY_REDUCE(Fault)
