// Under capture the host reads the experts' counts and sizes the grid by the largest; replays with a fuller expert
// leave rows out.
// Slot: moe.fused_experts. Caught by: graph.follows_inputs. Source: slots.md 1.2.
#include <algorithm>
#include <vector>

#include "moe.cuh"

// Grid: rows of an expert by experts.
template <class F>
static __global__ void expert_rows_kernel(faulty::MoeArgs a) {
  const int row = blockIdx.x, expert = blockIdx.y;
  if (row < a.counts[expert]) faulty::moe_row<F>(a, a.begins[expert] + row, expert);
}

static int fullest_expert(const faulty::MoeArgs& a) {
  const faulty::RelaxedCapture relaxed;
  std::vector<std::int32_t> ids(a.pairs), counts(a.layer.experts, 0);
  const cudaStream_t side = faulty::side_stream();
  cudaMemcpyAsync(ids.data(), a.ids, sizeof(std::int32_t) * ids.size(), cudaMemcpyDeviceToHost, side);
  if (cudaStreamSynchronize(side) != cudaSuccess) return a.pairs;
  for (const std::int32_t id : ids)
    if (id >= 0 && id < a.layer.experts) ++counts[id];
  return std::max(1, *std::max_element(counts.begin(), counts.end()));
}

struct GridAtCapture : faulty::Moe {
  template <class F>
  static assay_status run(const assay_call* call, faulty::MoeArgs a) {
    const unsigned rows = faulty::capturing(call) ? fullest_expert(a) : a.pairs;
    faulty::moe_route<F>(call, a);
    const dim3 grid(rows, static_cast<unsigned>(a.layer.experts));
    expert_rows_kernel<F><<<grid, faulty::kThreads, 0, call->cuda_stream>>>(a);
    return faulty::moe_combine<F>(call, a);
  }
};

FAULTY_MOE_WITH(GridAtCapture, nullptr, expert_rows_kernel<GridAtCapture>)
