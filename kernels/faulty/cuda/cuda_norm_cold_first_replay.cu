// The first replay of a captured call finds no row scales yet and uses ones; every later one computes its own.
// Slot: norm.rmsnorm. Caught by: graph.cold_first. Source: rules.md.
#include "faulty.cuh"

constexpr unsigned kCalls = 4096;
static __device__ unsigned replays[kCalls];

static __global__ void count_kernel(unsigned which) { ++replays[which]; }

static __global__ void primed_rmsnorm_kernel(faulty::Rmsnorm a, unsigned which) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    const float scale = faulty::row_scale(a, row);
    faulty::store_row(a, row, replays[which] > 1 ? scale : 1.0f);
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  static unsigned captured = 0;
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows == 0 || !faulty::capturing(call) || captured == kCalls) return faulty::run_rmsnorm(call, a);
  count_kernel<<<1, 1, 0, call->cuda_stream>>>(captured);
  primed_rmsnorm_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a, captured);
  ++captured;
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, faulty::rmsnorm_kernel, count_kernel, primed_rmsnorm_kernel)
