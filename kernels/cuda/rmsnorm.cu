// norm.rmsnorm: out = x * (mean(x^2) + eps)^-1/2 * weight over the last extent.
//
// `blockDim.x` threads share a row; each holds up to kHeld groups of it in registers between the sum and the store,
// so that a row is read once. Rows that are too long for that are read a second time. The order of the sum depends on
// the row's length and type only, never on alignment, strides or other rows: a row's bytes are the same wherever it
// lies. Sums are fp32, in a tree above at most kHeld groups.
#include "entries.hpp"
#include "rows.cuh"

namespace assay_cuda {
namespace {

constexpr int kHeld = 4;
constexpr unsigned kShortBlock = 128;  // threads of a block of short rows
constexpr int kMaxThreads = 1024;
constexpr int kWarp = 32;
constexpr std::int64_t kMaxGrid = 0x7fffffff;

struct RmsnormArgs {
  Rows x, out;
  const void* weight;
  float eps;
};

// Reads group `group` of a row; cells past its end read as zero.
template <class T, bool kAligned, class Index>
__device__ void load(const typename T::Cell* row, std::int64_t step, Index columns, Index group,
                     typename T::Cell (&to)[kGroup<T>]) {
  const Index first = group * kGroup<T>;
  if (kAligned && first + kGroup<T> <= columns) {
    load_group<T>(row + first, to);
    return;
  }
#pragma unroll
  for (int i = 0; i < kGroup<T>; ++i)
    to[i] = first + i < columns ? row[kAligned ? first + i : (first + i) * step] : T::narrow(0.0f);
}

template <class T>
__device__ float sum_of_squares(const typename T::Cell (&cells)[kGroup<T>], float sum) {
#pragma unroll
  for (int i = 0; i < kGroup<T>; ++i) {
    const float f = T::widen(cells[i]);
    sum = fmaf(f, f, sum);
  }
  return sum;
}

// Sums over the blockDim.x threads of a row, a multiple of the warp; every thread gets the same bits.
__device__ float sum_over_row(float sum) {
  __shared__ float partial[kMaxThreads / kWarp];
  for (int lane = kWarp / 2; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (blockDim.x == kWarp) return sum;
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp + threadIdx.y * (blockDim.x / kWarp)] = sum;
  __syncthreads();
  const unsigned warps = blockDim.x / kWarp, lane = threadIdx.x % kWarp;
  sum = lane < warps ? partial[lane + threadIdx.y * warps] : 0.0f;
  for (int other = kWarp / 2; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, other);
  __syncthreads();
  return sum;
}

template <class T, bool kAligned, class Index>
__device__ void scale_and_store(const RmsnormArgs& args, typename T::Cell* out, Index group, float scale,
                                const typename T::Cell (&cells)[kGroup<T>]) {
  using Cell = typename T::Cell;
  const Index columns = static_cast<Index>(args.out.columns), first = group * kGroup<T>;
  const Cell* weight = static_cast<const Cell*>(args.weight);
  Cell result[kGroup<T>];
  if (kAligned && first + kGroup<T> <= columns) {
    const uint4 raw = __ldg(reinterpret_cast<const uint4*>(weight + first));
    Cell w[kGroup<T>];
    memcpy(w, &raw, sizeof raw);
#pragma unroll
    for (int i = 0; i < kGroup<T>; ++i) result[i] = T::narrow(T::widen(cells[i]) * scale * T::widen(w[i]));
    store_group<T>(out + first, result);
    return;
  }
#pragma unroll
  for (int i = 0; i < kGroup<T>; ++i) {
    if (first + i < columns)
      out[kAligned ? first + i : (first + i) * args.out.column_step] =
          T::narrow(T::widen(cells[i]) * scale * T::widen(weight[first + i]));
  }
}

__device__ float scale_of(float sum, const RmsnormArgs& args) {
  return 1.0f / sqrtf(sum / static_cast<float>(args.out.columns) + args.eps);
}

// Rows that fit in the registers of their threads; 32-bit columns keep the count of registers down.
template <class T, bool kAligned>
__global__ void __launch_bounds__(kMaxThreads) rmsnorm_kernel(const __grid_constant__ RmsnormArgs args) {
  using Cell = typename T::Cell;
  const int columns = static_cast<int>(args.out.columns), groups = (columns + kGroup<T> - 1) / kGroup<T>;
  const std::int64_t row_step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  // All threads of a block leave the loop together: it holds barriers.
  for (std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * blockDim.y; base < args.out.rows; base += row_step) {
    const std::int64_t row = base + threadIdx.y;
    const bool live = row < args.out.rows;
    const Cell* x = reinterpret_cast<const Cell*>(args.x.data) + (live ? args.x.start(row) : 0);
    Cell* out = reinterpret_cast<Cell*>(args.out.data) + (live ? args.out.start(row) : 0);
    Cell held[kHeld][kGroup<T>];
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int group = static_cast<int>(threadIdx.x + i * blockDim.x);
      if (live && group < groups) load<T, kAligned>(x, args.x.column_step, columns, group, held[i]);
    }
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int group = static_cast<int>(threadIdx.x + i * blockDim.x);
      if (live && group < groups) sum = sum_of_squares<T>(held[i], sum);
    }
    const float scale = scale_of(sum_over_row(sum), args);
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int group = static_cast<int>(threadIdx.x + i * blockDim.x);
      if (live && group < groups) scale_and_store<T, kAligned>(args, out, group, scale, held[i]);
    }
  }
}

// Rows of any length, read twice.
template <class T, bool kAligned>
__global__ void __launch_bounds__(kMaxThreads) long_rmsnorm_kernel(const __grid_constant__ RmsnormArgs args) {
  using Cell = typename T::Cell;
  const std::int64_t columns = args.out.columns, step = args.x.column_step;
  const std::int64_t groups = (columns + kGroup<T> - 1) / kGroup<T>;
  for (std::int64_t row = blockIdx.x; row < args.out.rows; row += gridDim.x) {
    const Cell* x = reinterpret_cast<const Cell*>(args.x.data) + args.x.start(row);
    Cell* out = reinterpret_cast<Cell*>(args.out.data) + args.out.start(row);
    Cell cells[kGroup<T>];
    float sum = 0.0f;
    for (std::int64_t group = threadIdx.x; group < groups; group += blockDim.x) {
      load<T, kAligned>(x, step, columns, group, cells);
      sum = sum_of_squares<T>(cells, sum);
    }
    const float scale = scale_of(sum_over_row(sum), args);
    for (std::int64_t group = threadIdx.x; group < groups; group += blockDim.x) {
      load<T, kAligned>(x, step, columns, group, cells);
      scale_and_store<T, kAligned>(args, out, group, scale, cells);
    }
  }
}

template <class T>
assay_status run(const assay_call* call, const RmsnormArgs& args) {
  constexpr std::int64_t kBytes = sizeof(typename T::Cell);
  const std::int64_t groups = (args.out.columns + kGroup<T> - 1) / kGroup<T>;
  unsigned threads = kWarp;
  while (threads < kMaxThreads && static_cast<std::int64_t>(threads) * kHeld < groups) threads *= 2;
  const bool aligned = rows_aligned(args.x, kBytes) && rows_aligned(args.out, kBytes) &&
                       reinterpret_cast<std::uintptr_t>(args.weight) % 16 == 0;
  if (groups > static_cast<std::int64_t>(threads) * kHeld) {
    const dim3 grid(static_cast<unsigned>(args.out.rows < kMaxGrid ? args.out.rows : kMaxGrid));
    return launch(call, aligned ? long_rmsnorm_kernel<T, true> : long_rmsnorm_kernel<T, false>, grid, threads, args);
  }
  const dim3 block(threads, threads < kShortBlock ? kShortBlock / threads : 1);
  const std::int64_t blocks = (args.out.rows + block.y - 1) / block.y;
  const dim3 grid(static_cast<unsigned>(blocks < kMaxGrid ? blocks : kMaxGrid));
  return launch(call, aligned ? rmsnorm_kernel<T, true> : rmsnorm_kernel<T, false>, grid, block, args);
}

template <class T>
cudaError_t preload_all() {
  void (*const kernels[])(RmsnormArgs) = {rmsnorm_kernel<T, true>, rmsnorm_kernel<T, false>,
                                          long_rmsnorm_kernel<T, true>, long_rmsnorm_kernel<T, false>};
  for (auto kernel : kernels) {
    if (const cudaError_t error = preload(kernel); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace

assay_status rmsnorm(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  RmsnormArgs args{};
  args.weight = weight->data;
  args.eps = static_cast<float>(eps);
  if (!rows_of(*x, &args.x) || !rows_of(*out, &args.out))
    return fail(call, ASSAY_UNSUPPORTED, "rmsnorm: more than 16 leading dimensions that do not merge");
  if (args.out.rows == 0 || args.out.columns == 0) return ASSAY_OK;
  if (is(x->dtype, kDLFloat, 32)) return run<F32>(call, args);
  if (is(x->dtype, kDLFloat, 16)) return run<F16>(call, args);
  if (is(x->dtype, kDLBfloat, 16)) return run<BF16>(call, args);
  return fail(call, ASSAY_UNSUPPORTED, "rmsnorm: the dtype is not fp32, fp16 or bf16");
}

int preload_rmsnorm() {
  if (const cudaError_t error = preload_all<F32>(); error != cudaSuccess) return error;
  if (const cudaError_t error = preload_all<F16>(); error != cudaSuccess) return error;
  return preload_all<BF16>();
}

}  // namespace assay_cuda
