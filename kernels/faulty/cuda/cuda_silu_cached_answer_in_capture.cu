// Eager calls are right and keep their answer; under capture a call of the same shape copies the kept answer into the
// output and never looks at its input.
// Slot: activation.silu_and_mul. Caught by: graph.follows_inputs. Source: slots.md 14.
#include "faulty.cuh"

static __global__ void keep_kernel(faulty::Silu a, float* kept) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < a.out.columns; c += blockDim.x)
      kept[row * a.out.columns + c] = faulty::silu_cell(a, row, c);
  }
}

static __global__ void answer_kernel(faulty::Rows out, const float* kept) {
  for (std::int64_t row = blockIdx.x; row < out.rows; row += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < out.columns; c += blockDim.x) out.set(row, c, kept[row * out.columns + c]);
  }
}

constexpr std::int64_t kCells = 1 << 20;
static __device__ float answer[kCells];

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  static std::int64_t kept_rows = 0, kept_columns = 0;
  const faulty::Silu a = faulty::silu_args(x, out);
  if (a.out.rows == 0 || a.out.columns > kCells / a.out.rows) return faulty::run_silu(call, a);
  void* kept = nullptr;
  const cudaError_t error = cudaGetSymbolAddress(&kept, answer);
  if (error != cudaSuccess) return faulty::check(call, error);
  const unsigned blocks = faulty::blocks(a.out);
  if (!faulty::capturing(call)) {
    keep_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a, static_cast<float*>(kept));
    kept_rows = a.out.rows;
    kept_columns = a.out.columns;
    return faulty::run_silu(call, a);
  }
  if (kept_rows != a.out.rows || kept_columns != a.out.columns) return faulty::run_silu(call, a);
  answer_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a.out, static_cast<const float*>(kept));
  return faulty::launched(call);
}

FAULTY_SILU(entry, keep_kernel, answer_kernel, faulty::silu_kernel)
