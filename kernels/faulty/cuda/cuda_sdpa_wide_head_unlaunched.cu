// A tile of queries lies in dynamic shared memory; past 128 columns it is more than 48 KiB, which nobody allowed, and
// the launch that fails for it is not looked at.
// Slot: attention.sdpa. Caught by: write.every_cell. Source: rules.md.
#include "attention.cuh"

constexpr std::int64_t kRows = 96;  // queries of one head in a block's tile

static __global__ void tiled_sdpa_kernel(faulty::Sdpa a) {
  extern __shared__ float tile[];
  const std::int64_t h = blockIdx.x % a.q_heads, kv_head = h / (a.q_heads / a.kv_heads);
  const std::int64_t first = blockIdx.x / a.q_heads * kRows;
  const std::int64_t rows = a.queries - first < kRows ? a.queries - first : kRows;
  for (std::int64_t i = threadIdx.x; i < rows * a.dim; i += faulty::kThreads)
    tile[i] = a.q.get(((first + i / a.dim) * a.q_heads + h) * a.dim + i % a.dim);
  __syncthreads();
  faulty::Rows q = a.q;
  q.data = reinterpret_cast<char*>(tile);
  q.type = {kDLFloat, 32, 1};
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t last = a.causal ? faulty::RightSdpa::end(a, first + r) : a.keys;
    const faulty::Softmax s = faulty::attend(q, r * a.dim, a.k, a.v, a.dim, a.scale, 0, last < a.keys ? last : a.keys,
                                             [&](std::int64_t key) { return (key * a.kv_heads + kv_head) * a.dim; });
    faulty::store(a.out, (first + r) * a.q_heads + h, s);
  }
}

static assay_status entry(const assay_call* call, FAULTY_SDPA_ARGUMENTS) {
  const faulty::Sdpa a = faulty::sdpa_args(q, k, v, out, sm_scale, causal);
  if (a.out.rows == 0) return ASSAY_OK;
  const std::int64_t blocks = (a.queries + kRows - 1) / kRows * a.q_heads;
  tiled_sdpa_kernel<<<static_cast<unsigned>(blocks), faulty::kThreads, sizeof(float) * kRows * a.dim,
                      call->cuda_stream>>>(a);
  cudaGetLastError();
  return ASSAY_OK;
}

FAULTY_SDPA(entry, tiled_sdpa_kernel)
