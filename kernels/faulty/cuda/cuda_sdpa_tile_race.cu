// Warps share a tile of values and no barrier stands between the last read of it and the next load: a warp that is
// ahead overwrites what a slower one still reads. A pause of every other warp makes the race sure to be lost. Slot:
// attention.sdpa. Caught by: number.reference. Source: rules.md.
#include "attention.cuh"

constexpr int kWarp = 32, kWarps = faulty::kThreads / kWarp, kTile = 16, kOfLane = faulty::kMaxHeadDim / kWarp;

// A block serves kWarps queries of one head, a warp each; lane i holds columns i, i + 32, ...
static __global__ void racing_sdpa_kernel(faulty::Sdpa a) {
  __shared__ float tile[kTile][faulty::kMaxHeadDim];
  const std::int64_t h = blockIdx.x % a.q_heads, kv_head = h / (a.q_heads / a.kv_heads);
  const std::int64_t t = blockIdx.x / a.q_heads * kWarps + threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  const bool live = t < a.queries;
  const std::int64_t end = !live ? 0 : a.causal ? faulty::RightSdpa::end(a, t) : a.keys;
  float top = -INFINITY, below = 0.0f, sum[kOfLane] = {};
  for (std::int64_t first = 0; first < a.keys; first += kTile) {
    for (std::int64_t i = threadIdx.x; i < kTile * a.dim; i += faulty::kThreads) {
      const std::int64_t key = first + i / a.dim;
      if (key < a.keys) tile[i / a.dim][i % a.dim] = a.v.get((key * a.kv_heads + kv_head) * a.dim + i % a.dim);
    }
    __syncthreads();
    if (threadIdx.x / kWarp % 2 == 1) __nanosleep(20000);
    for (std::int64_t key = first; key < first + kTile && key < end && key < a.keys; ++key) {
      float logit = 0.0f;
      for (std::int64_t c = lane; c < a.dim; c += kWarp)
        logit =
            fmaf(a.q.get((t * a.q_heads + h) * a.dim + c), a.k.get((key * a.kv_heads + kv_head) * a.dim + c), logit);
      for (int other = kWarp / 2; other > 0; other /= 2) logit += __shfl_xor_sync(0xffffffffu, logit, other);
      logit *= a.scale;
      const float higher = fmaxf(top, logit), keep = expf(top - higher), p = expf(logit - higher);
      top = higher;
      below = below * keep + p;
      for (int i = 0; i < kOfLane; ++i) {
        if (lane + i * kWarp < a.dim) sum[i] = fmaf(p, tile[key - first][lane + i * kWarp], sum[i] * keep);
      }
    }
  }
  for (int i = 0; live && i < kOfLane; ++i) {
    if (lane + i * kWarp < a.dim) a.out.set(t * a.q_heads + h, lane + i * kWarp, below > 0.0f ? sum[i] / below : 0.0f);
  }
}

static assay_status entry(const assay_call* call, FAULTY_SDPA_ARGUMENTS) {
  const faulty::Sdpa a = faulty::sdpa_args(q, k, v, out, sm_scale, causal);
  if (a.out.rows == 0) return ASSAY_OK;
  const std::int64_t blocks = (a.queries + kWarps - 1) / kWarps * a.q_heads;
  racing_sdpa_kernel<<<static_cast<unsigned>(blocks), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_SDPA(entry, racing_sdpa_kernel)
