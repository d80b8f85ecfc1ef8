// Splits leave their average of values, and one without a token divides zero by zero; the merge weighs that with zero.
// Slot: attention.decode. Caught by: number.finite. Source: FAULT-008.
#include "attention.cuh"

struct Averaged : faulty::RightDecode {
  static __device__ void leave(const faulty::Decode& a, std::int64_t row, std::int64_t split,
                               const faulty::Softmax& s) {
    float* to = a.partial_of(row, split);
    if (threadIdx.x == 0) {
      to[0] = s.top;
      to[1] = s.below;
    }
    for (int i = 0; i < faulty::kColumns; ++i) {
      const std::int64_t c = threadIdx.x + i * faulty::kThreads;
      if (c < a.dim) to[2 + c] = s.sum[i] / s.below;
    }
  }
};

static __global__ void unguarded_merge_kernel(faulty::Decode a) {
  for (std::int64_t row = blockIdx.x; row < a.batch * a.q_heads; row += gridDim.x) {
    faulty::Softmax s;
    for (std::int64_t split = 0; split < faulty::kSplits; ++split) s.top = fmaxf(s.top, a.partial_of(row, split)[0]);
    for (std::int64_t split = 0; split < faulty::kSplits && s.top > -INFINITY; ++split) {
      const float* from = a.partial_of(row, split);
      const float share = from[1] * expf(from[0] - s.top);
      s.below += share;
      for (int i = 0; i < faulty::kColumns; ++i) {
        const std::int64_t c = threadIdx.x + i * faulty::kThreads;
        if (c < a.dim) s.sum[i] = fmaf(share, from[2 + c], s.sum[i]);
      }
    }
    faulty::store(a.out, row, s);
  }
}

static assay_status entry(const assay_call* call, FAULTY_DECODE_ARGUMENTS) {
  const faulty::Decode a = faulty::decode_args(call, FAULTY_DECODE_NAMES);
  if (faulty::empty(a)) return ASSAY_OK;
  faulty::split_kernel<Averaged><<<faulty::split_blocks(a), faulty::kThreads, 0, call->cuda_stream>>>(a);
  unguarded_merge_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_DECODE(entry, faulty::split_kernel<Averaged>, unguarded_merge_kernel)
