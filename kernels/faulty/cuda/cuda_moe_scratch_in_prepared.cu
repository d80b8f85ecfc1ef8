// A layer keeps one block of scratch for all its calls: two that overlap on two streams write each other's rows. A
// pause before the sum makes the overlap sure.
// Slot: moe.fused_experts. Caught by: stream.concurrent. Source: rules.md.
#include "moe.cuh"

constexpr std::size_t kScratch = std::size_t{16} << 20;

struct ScratchInPrepared : faulty::Moe {
  template <class F>
  static cudaError_t prepare(const assay_call*, const assay_moe_weights*, faulty::MoeLayer* layer) {
    return cudaMalloc(&layer->own, kScratch);
  }
  static void release(faulty::MoeLayer* layer) { cudaFree(layer->own); }
  template <class F>
  static assay_status run(const assay_call* call, faulty::MoeArgs a) {
    const bool shared = sizeof(float) * a.pairs * a.layer.hidden <= kScratch;
    if (shared) a.partial = static_cast<float*>(a.layer.own);
    faulty::moe_route<F>(call, a);
    faulty::moe_rows_kernel<F><<<a.pairs, faulty::kThreads, 0, call->cuda_stream>>>(a);
    if (shared) faulty::delay_kernel<<<1, 1, 0, call->cuda_stream>>>(500);
    return faulty::moe_combine<F>(call, a);
  }
};

FAULTY_MOE_WITH(ScratchInPrepared, nullptr, faulty::delay_kernel)
