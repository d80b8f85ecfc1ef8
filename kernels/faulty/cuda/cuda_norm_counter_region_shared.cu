// Few rows are split over blocks that count themselves in a region which each call leaves at zero; many rows use the
// same region as scratch and leave numbers there, so that the next short call never sees its last block.
// Slot: norm.rmsnorm. Caught by: input.not_retained. Source: FAULT-037.
#include "faulty.cuh"

constexpr int kSplits = 4, kSplitRows = 8, kScratchRows = 1 << 20;
static __device__ float region[kScratchRows];  // counters of split rows; scales of the two-kernel form
static __device__ float partial_sums[kSplitRows * kSplits];

static __global__ void split_kernel(faulty::Rmsnorm a) {
  __shared__ bool last;
  const int row = static_cast<int>(blockIdx.x) / kSplits, split = static_cast<int>(blockIdx.x) % kSplits;
  float sum = 0.0f;
  for (std::int64_t c = split * faulty::kThreads + threadIdx.x; c < a.x.columns; c += kSplits * faulty::kThreads) {
    const float f = a.x.cell(row, c);
    sum = fmaf(f, f, sum);
  }
  sum = faulty::block_sum(sum);
  if (threadIdx.x == 0) {
    partial_sums[blockIdx.x] = sum;
    __threadfence();
    unsigned* counter = reinterpret_cast<unsigned*>(region) + row;
    last = atomicAdd(counter, 1u) == kSplits - 1;
    if (last) *counter = 0;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  const volatile float* sums = partial_sums + row * kSplits;
  faulty::store_row(a, row, faulty::scale_of(sums[0] + sums[1] + sums[2] + sums[3], a.x.columns, a.eps));
}

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows == 0 || a.out.rows > kScratchRows) return faulty::run_rmsnorm(call, a);
  if (a.out.rows <= kSplitRows) {
    split_kernel<<<static_cast<unsigned>(a.out.rows) * kSplits, faulty::kThreads, 0, call->cuda_stream>>>(a);
    return faulty::launched(call);
  }
  void* scales = nullptr;
  const cudaError_t error = cudaGetSymbolAddress(&scales, region);
  if (error != cudaSuccess) return faulty::check(call, error);
  const unsigned blocks = faulty::blocks(a.out);
  faulty::scales_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a, static_cast<float*>(scales));
  faulty::apply_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a, static_cast<float*>(scales));
  return faulty::launched(call);
}

FAULTY_SERIAL_RMSNORM(entry, split_kernel, faulty::scales_kernel, faulty::apply_kernel, faulty::rmsnorm_kernel)
