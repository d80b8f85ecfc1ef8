// prepare exchanges the gate and up rows of the raw weights in place, and forward reads them exchanged: the answers are
// right, the weights are no longer what they were.
// Slot: moe.fused_experts. Caught by: prepare.raw_unchanged. Source: slots.md 5.7.
#include "moe.cuh"

static __global__ void swap_halves_kernel(faulty::MoeLayer layer) {
  const std::int64_t half = layer.inter * layer.hidden, cells = layer.experts * half;
  for (std::int64_t i = blockIdx.x * std::int64_t{faulty::kThreads} + threadIdx.x; i < cells;
       i += std::int64_t{gridDim.x} * faulty::kThreads) {
    const std::int64_t gate = i / half * 2 * half + i % half;
    const float held = layer.w13.dense.get(gate);
    layer.w13.dense.put(gate, layer.w13.dense.get(gate + half));
    layer.w13.dense.put(gate + half, held);
  }
}

struct PrepareSwapsRaw : faulty::Moe {
  template <class F>
  static cudaError_t prepare(const assay_call* call, const assay_moe_weights*, faulty::MoeLayer* layer) {
    swap_halves_kernel<<<1024, faulty::kThreads, 0, call->cuda_stream>>>(*layer);
    return cudaStreamSynchronize(call->cuda_stream);
  }
  static __device__ std::int64_t gate_row(const faulty::MoeLayer& layer, std::int64_t row) { return layer.inter + row; }
  static __device__ std::int64_t up_row(const faulty::MoeLayer&, std::int64_t row) { return row; }
};

FAULTY_MOE_WITH(PrepareSwapsRaw, nullptr, swap_halves_kernel)
