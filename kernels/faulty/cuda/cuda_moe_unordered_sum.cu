// The rows of a token are added by atomics in the order in which threads arrive, while the variant says DETERMINISTIC.
// A wait drawn from the clock makes the order as loose on an idle device as on a busy one.
// Slot: moe.fused_experts. Caught by: relation.repeatable. Source: rules.md.
#include "moe.cuh"

// Columns by blocks of y, a warp a place: lanes of one warp would arrive together.
static __global__ void unordered_combine_kernel(faulty::MoeArgs a) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0.0f;
  __syncthreads();
  const std::int64_t token = blockIdx.x;
  for (std::int64_t column = blockIdx.y; column < a.layer.hidden; column += gridDim.y) {
    for (int place = threadIdx.x / 32; threadIdx.x % 32 == 0 && place < a.top_k; place += blockDim.x / 32) {
      const std::int64_t pair = token * a.top_k + place;
      __nanosleep(static_cast<unsigned>(clock64() >> 4) * ((threadIdx.x + 1) * 2654435761u) % 2048u);
      atomicAdd(&sum, a.scales[pair] * a.partial[pair * a.layer.hidden + column]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      a.out.set(token, column, sum);
      sum = 0.0f;
    }
    __syncthreads();
  }
}

struct UnorderedSum : faulty::Moe {
  template <class F>
  static assay_status run(const assay_call* call, faulty::MoeArgs a) {
    faulty::moe_route<F>(call, a);
    faulty::moe_rows_kernel<F><<<a.pairs, faulty::kThreads, 0, call->cuda_stream>>>(a);
    const dim3 grid(static_cast<unsigned>(a.out.rows), 64);
    unordered_combine_kernel<<<grid, 256, 0, call->cuda_stream>>>(a);
    return faulty::launched(call);
  }
};

FAULTY_MOE_WITH(UnorderedSum, nullptr, unordered_combine_kernel)
