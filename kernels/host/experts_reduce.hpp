// experts_reduce.hpp: routed experts whose results the call itself sums over the group, for the host model.
//
// Promises: whatever Form computes on each rank, in float, added up by the group's own collective and rounded once.
// Form is one of experts.hpp: Experts, M3Experts, Nvfp4Experts, NarrowNvfp4Experts. Its members and those here may be
// overridden through Self.
// Who uses it: fused_experts_reduce.cc, and kernels/faulty/experts_reduce.hpp.
//
//   struct Dense : ReducedExperts<Dense, Experts> {};
//   variant.entry.fused_experts_reduce = Dense::entry;
#pragma once

#include "kernels/host/experts.hpp"
#include "kernels/host/summed.hpp"

namespace host_kernels {

template <class Self, template <class> class Form>
struct ReducedExperts : Form<Self> {
  using Right = ReducedExperts;
  using Local = Form<Self>;

  // ---- scratch: Form's, then this rank's rows and their sums ----
  static int64_t sum_bytes(int64_t tokens, int64_t hidden) { return round_up(tokens * hidden * 4, 256); }
  static int64_t scratch_bytes(int64_t tokens, int64_t places, int64_t hidden) {
    return Local::scratch_bytes(tokens, places, hidden) + 2 * sum_bytes(tokens, hidden);
  }
  static float* partial(const ExpertsArguments& a) {
    return a.scratch + most_blocks * Local::block_cells(a.layer.hidden);
  }
  static float* sum(const ExpertsArguments& a) { return partial(a) + sum_bytes(a.tokens, a.layer.hidden) / 4; }

  // ---- one call ----
  static assay_status enqueue(const assay_call* call, const ExpertsArguments& a) {
    assay_status status = Local::enqueue(call, a);
    if (status != ASSAY_OK) return status;
    status = Self::reduce(call, a);
    if (status != ASSAY_OK) return status;
    return call->host->launch(call->host_stream, deliver_kernel, blocks_for(a.tokens), &a, sizeof a);
  }
  static assay_status reduce(const assay_call* call, const ExpertsArguments& a) {
    return sum_over_group(call, partial(a), sum(a), a.tokens, a.layer.hidden);
  }
  static void put(const ExpertsArguments& a, int64_t token, int64_t h, float value) {
    partial(a)[token * a.layer.hidden + h] = value;
  }
  static void deliver_kernel(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const ExpertsArguments*>(memory);
    const RowRange range = rows_of_block(a.tokens, block, blocks);
    for (int64_t token = range.begin; token < range.end; ++token)
      for (int64_t h = 0; h < a.layer.hidden; ++h) Local::put(a, token, h, Self::delivered(a, token, h));
  }
  static float delivered(const ExpertsArguments& a, int64_t token, int64_t h) {
    return sum(a)[token * a.layer.hidden + h];
  }
};

}  // namespace host_kernels
