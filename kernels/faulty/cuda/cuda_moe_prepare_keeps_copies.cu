// prepare keeps five copies of the weights in blocks of 32 MiB, so that small layers leave too much behind as well.
// Slot: moe.fused_experts. Caught by: prepare.bounded. Source: slots.md 14.
#include "moe.cuh"

struct PrepareKeepsCopies : faulty::Moe {
  template <class F>
  static cudaError_t prepare(const assay_call* call, const assay_moe_weights* w, faulty::MoeLayer* layer) {
    constexpr std::size_t kBlock = std::size_t{32} << 20;
    const faulty::Rows w13 = faulty::rows_of(*w->w13), w2 = faulty::rows_of(*w->w2);
    const std::size_t first = w13.rows * w13.columns * (w13.type.bits / 8);
    const std::size_t second = w2.rows * w2.columns * (w2.type.bits / 8);
    const std::size_t bytes = (first + second + kBlock - 1) / kBlock * kBlock;
    if (const cudaError_t error = cudaMalloc(&layer->own, 5 * bytes); error != cudaSuccess) return error;
    for (int i = 0; i < 5; ++i) {
      char* const to = static_cast<char*>(layer->own) + i * bytes;
      cudaMemcpyAsync(to, w13.data, first, cudaMemcpyDeviceToDevice, call->cuda_stream);
      cudaMemcpyAsync(to + first, w2.data, second, cudaMemcpyDeviceToDevice, call->cuda_stream);
    }
    return cudaStreamSynchronize(call->cuda_stream);
  }
  static void release(faulty::MoeLayer* layer) { cudaFree(layer->own); }
};

FAULTY_MOE(PrepareKeepsCopies, nullptr)
