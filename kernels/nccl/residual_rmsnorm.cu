// collective.ar_residual_rmsnorm and collective.moe_finalize_ar_rmsnorm: a sum over the group, then one kernel that
// adds the residual and normalises.
//
// The first widens x, the second finalises (each token's rows, by map and scale, in the order of its places); both add
// up in fp32, in the workspace, so that nothing is rounded before the residual: a sum in bf16 that the residual cancels
// keeps no digit.
#include "comm.cuh"
#include "entries.hpp"
#include "unpack.cuh"

namespace assay_nccl {
namespace {

using assay_cuda::BF16;
using assay_cuda::F16;
using assay_cuda::F32;
using assay_cuda::kGroup;
using assay_cuda::launch;
using assay_cuda::preload;
using assay_cuda::Rows;

constexpr int kMostThreads = 1024, kPlainThreads = 256, kFinalizeThreads = 128, kWarp = 32;
constexpr int kHeld = 2;  // groups of a row that a thread keeps between the sum and the store

struct NormArgs {
  const void* sum;  // contiguous
  const void *residual, *weight;
  Rows out_norm, out_residual;
  float eps;
};

// Over all threads of a block, whole warps; every thread gets the same bits.
__device__ float sum_over_block(float sum) {
  __shared__ float of_warps[kMostThreads / kWarp];
  for (int lane = kWarp / 2; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = sum;
  __syncthreads();
  const unsigned lane = threadIdx.x % kWarp;
  sum = lane < blockDim.x / kWarp ? of_warps[lane] : 0.0f;
  for (int other = kWarp / 2; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, other);
  return sum;
}

__device__ float scale_of(float squares, const NormArgs& args) {
  return 1.0f / sqrtf(sum_over_block(squares) / static_cast<float>(args.out_norm.columns) + args.eps);
}

// N cells from a 16-byte boundary on.
template <class S, int N>
__device__ void widen_cells(const void* row, std::int64_t first, float (&to)[N]) {
  constexpr int kPer = kGroup<S>;
  const auto* from = static_cast<const typename S::Cell*>(row) + first;
#pragma unroll
  for (int c = 0; c < N; c += kPer) {
    typename S::Cell cells[kPer];
    const uint4 raw = __ldg(reinterpret_cast<const uint4*>(from + c));
    memcpy(cells, &raw, sizeof raw);
#pragma unroll
    for (int i = 0; i < kPer; ++i) to[c + i] = S::widen(cells[i]);
  }
}

template <class T>
__device__ void narrow_group(char* data, std::int64_t first, const float (&from)[kGroup<T>]) {
  typename T::Cell cells[kGroup<T>];
#pragma unroll
  for (int i = 0; i < kGroup<T>; ++i) cells[i] = T::narrow(from[i]);
  assay_cuda::store_group<T>(reinterpret_cast<typename T::Cell*>(data) + first, cells);
}

// One row a block, in registers. S is the sum's type, T the tensors'.
template <class S, class T>
__global__ void __launch_bounds__(kMostThreads) add_and_norm_kernel(const __grid_constant__ NormArgs args) {
  constexpr int N = kGroup<T>;
  const std::int64_t row = blockIdx.x, columns = args.out_norm.columns;
  const int groups = static_cast<int>(columns / N);
  float held[kHeld][N];
  float squares = 0.0f;
#pragma unroll
  for (int g = 0; g < kHeld; ++g) {
    const int group = static_cast<int>(threadIdx.x + g * blockDim.x);
    if (group >= groups) continue;
    float residual[N];
    widen_cells<S>(args.sum, row * columns + group * N, held[g]);
    widen_cells<T>(args.residual, row * columns + group * N, residual);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      held[g][i] += residual[i];
      squares = fmaf(held[g][i], held[g][i], squares);
    }
    narrow_group<T>(args.out_residual.data, args.out_residual.start(row) + group * N, held[g]);
  }
  const float scale = scale_of(squares, args);
#pragma unroll
  for (int g = 0; g < kHeld; ++g) {
    const int group = static_cast<int>(threadIdx.x + g * blockDim.x);
    if (group >= groups) continue;
    float weight[N];
    widen_cells<T>(args.weight, group * N, weight);
#pragma unroll
    for (int i = 0; i < N; ++i) held[g][i] *= scale * weight[i];
    narrow_group<T>(args.out_norm.data, args.out_norm.start(row) + group * N, held[g]);
  }
}

// Rows of any length, at any address: cell by cell, and read twice.
template <class S, class T>
__global__ void __launch_bounds__(kPlainThreads) plain_add_and_norm_kernel(const __grid_constant__ NormArgs args) {
  using Cell = typename T::Cell;
  const std::int64_t row = blockIdx.x, columns = args.out_norm.columns;
  const auto* sum = static_cast<const typename S::Cell*>(args.sum) + row * columns;
  const auto* residual = static_cast<const Cell*>(args.residual) + row * columns;
  const auto* weight = static_cast<const Cell*>(args.weight);
  auto* out_norm = reinterpret_cast<Cell*>(args.out_norm.data) + args.out_norm.start(row);
  auto* out_residual = reinterpret_cast<Cell*>(args.out_residual.data) + args.out_residual.start(row);
  float squares = 0.0f;
  for (std::int64_t i = threadIdx.x; i < columns; i += kPlainThreads) {
    const float v = S::widen(sum[i]) + T::widen(residual[i]);
    squares = fmaf(v, v, squares);
    out_residual[i * args.out_residual.column_step] = T::narrow(v);
  }
  const float scale = scale_of(squares, args);
  for (std::int64_t i = threadIdx.x; i < columns; i += kPlainThreads) {
    const float v = S::widen(sum[i]) + T::widen(residual[i]);
    out_norm[i * args.out_norm.column_step] = T::narrow(v * (scale * T::widen(weight[i])));
  }
}

struct FinalizeArgs {
  const void* rows;  // (T_exp*K, H)
  const std::int32_t* map;
  const float* scales;  // (T_exp, K)
  std::int64_t map_step, hidden;
  int places;
  float* out;  // (T, H)
};

// One token a block of x, its columns by blocks of y.
template <class T>
__global__ void __launch_bounds__(kFinalizeThreads) finalize_kernel(const __grid_constant__ FinalizeArgs args) {
  const std::int64_t token = blockIdx.x;
  const auto* rows = static_cast<const typename T::Cell*>(args.rows);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kFinalizeThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * kFinalizeThreads + threadIdx.x; i < args.hidden;
       i += step) {
    float sum = 0.0f;
    for (int k = 0; k < args.places; ++k) {
      const std::int64_t row = args.map[token + k * args.map_step];
      sum = fmaf(args.scales[token * args.places + k], T::widen(rows[row * args.hidden + i]), sum);
    }
    args.out[token * args.hidden + i] = sum;
  }
}

bool on_16_bytes(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }

template <class S, class T>
assay_status add_and_norm(const assay_call* call, const NormArgs& args) {
  constexpr std::int64_t kBytes = sizeof(typename T::Cell);
  const std::int64_t columns = args.out_norm.columns, groups = columns / kGroup<T>;
  if (args.out_norm.rows == 0 || columns == 0) return ASSAY_OK;
  const dim3 grid(static_cast<unsigned>(args.out_norm.rows));
  const bool vector = columns % kGroup<T> == 0 && groups <= kHeld * kMostThreads && on_16_bytes(args.sum) &&
                      on_16_bytes(args.residual) && on_16_bytes(args.weight) &&
                      assay_cuda::rows_aligned(args.out_norm, kBytes) &&
                      assay_cuda::rows_aligned(args.out_residual, kBytes);
  if (!vector) return launch(call, plain_add_and_norm_kernel<S, T>, grid, dim3(kPlainThreads), args);
  const std::int64_t whole = (groups + kWarp - 1) / kWarp * kWarp;
  return launch(call, add_and_norm_kernel<S, T>, grid,
                dim3(static_cast<unsigned>(whole < kMostThreads ? whole : kMostThreads)), args);
}

bool norm_args(assay_in residual, assay_in weight, double eps, assay_out out_norm, assay_out out_residual,
               NormArgs* args) {
  args->residual = residual->data;
  args->weight = weight->data;
  args->eps = static_cast<float>(eps);
  return assay_cuda::rows_of(*out_norm, &args->out_norm) && assay_cuda::rows_of(*out_residual, &args->out_residual);
}

template <class T>
__global__ void __launch_bounds__(kPlainThreads)
    widen_kernel(const typename T::Cell* __restrict__ from, float* __restrict__ to, std::int64_t cells) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kPlainThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kPlainThreads + threadIdx.x; i < cells; i += step)
    to[i] = T::widen(from[i]);
}

template <class T>
assay_status sum_and_norm(const assay_call* call, assay_in x, NormArgs args) {
  const std::int64_t cells = cells_of(*x);
  auto* sum = static_cast<float*>(call->workspace);
  const void* from = x->data;
  if constexpr (sizeof(typename T::Cell) < sizeof(float)) {
    if (cells > 0) {
      const std::int64_t wanted = (cells + kPlainThreads - 1) / kPlainThreads;
      widen_kernel<T><<<static_cast<unsigned>(wanted < 1024 ? wanted : 1024), kPlainThreads, 0, call->cuda_stream>>>(
          static_cast<const typename T::Cell*>(from), sum, cells);
      if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
        return fail(call, ASSAY_ERROR, cudaGetErrorString(error));
    }
    from = sum;
  }
  const assay_status status = add_up(call, from, sum, cells, ncclFloat32);
  if (status != ASSAY_OK) return status;
  args.sum = sum;
  return add_and_norm<F32, T>(call, args);
}

template <class T>
assay_status finalize_sum_and_norm(const assay_call* call, const FinalizeArgs& finalize, std::int64_t tokens,
                                   NormArgs args) {
  if (tokens > 0 && finalize.hidden > 0) {
    const std::int64_t wanted = (finalize.hidden + kFinalizeThreads - 1) / kFinalizeThreads;
    const dim3 grid(static_cast<unsigned>(tokens), static_cast<unsigned>(wanted < 64 ? wanted : 64));
    const assay_status status = launch(call, finalize_kernel<T>, grid, dim3(kFinalizeThreads), finalize);
    if (status != ASSAY_OK) return status;
  }
  const assay_status status = add_up(call, finalize.out, finalize.out, tokens * finalize.hidden, ncclFloat32);
  if (status != ASSAY_OK) return status;
  args.sum = finalize.out;
  return add_and_norm<F32, T>(call, args);
}

cudaError_t preload_all() {
  for (auto kernel : {add_and_norm_kernel<F32, F32>, add_and_norm_kernel<F32, F16>, add_and_norm_kernel<F32, BF16>})
    if (const cudaError_t error = preload(kernel); error != cudaSuccess) return error;
  for (auto kernel :
       {plain_add_and_norm_kernel<F32, F32>, plain_add_and_norm_kernel<F32, F16>, plain_add_and_norm_kernel<F32, BF16>})
    if (const cudaError_t error = preload(kernel); error != cudaSuccess) return error;
  for (auto kernel : {finalize_kernel<F32>, finalize_kernel<F16>, finalize_kernel<BF16>})
    if (const cudaError_t error = preload(kernel); error != cudaSuccess) return error;
  cudaFuncAttributes loaded;
  for (const void* kernel :
       {reinterpret_cast<const void*>(widen_kernel<F16>), reinterpret_cast<const void*>(widen_kernel<BF16>)})
    if (const cudaError_t error = cudaFuncGetAttributes(&loaded, kernel); error != cudaSuccess) return error;
  return cudaSuccess;
}

}  // namespace

assay_status ar_residual_rmsnorm_workspace(const assay_call* call, const DLTensor* const* tensors, std::uint32_t count,
                                           std::size_t* bytes) {
  if (count != 5) return fail(call, ASSAY_ERROR, "ar_residual_rmsnorm: five tensors are expected");
  *bytes = static_cast<std::size_t>(cells_of(*tensors[0])) * sizeof(float);
  return ASSAY_OK;
}

assay_status ar_residual_rmsnorm(const assay_call* call, assay_in x, assay_in residual, assay_in weight, double eps,
                                 assay_out out_norm, assay_out out_residual) {
  NormArgs args{};
  if (!contiguous(*x) || !contiguous(*residual) || !norm_args(residual, weight, eps, out_norm, out_residual, &args))
    return fail(call, ASSAY_UNSUPPORTED, "ar_residual_rmsnorm: inputs that are not contiguous");
  if (is(x->dtype, kDLFloat, 32)) return sum_and_norm<F32>(call, x, args);
  if (is(x->dtype, kDLFloat, 16)) return sum_and_norm<F16>(call, x, args);
  if (is(x->dtype, kDLBfloat, 16)) return sum_and_norm<BF16>(call, x, args);
  return fail(call, ASSAY_UNSUPPORTED, "ar_residual_rmsnorm: not fp32, fp16 or bf16");
}

assay_status moe_finalize_ar_rmsnorm_workspace(const assay_call* call, const DLTensor* const* tensors,
                                               std::uint32_t count, std::size_t* bytes) {
  if (count != 7) return fail(call, ASSAY_ERROR, "moe_finalize_ar_rmsnorm: seven tensors are expected");
  *bytes = static_cast<std::size_t>(cells_of(*tensors[3])) * sizeof(float);
  return ASSAY_OK;
}

assay_status moe_finalize_ar_rmsnorm(const assay_call* call, assay_in gemm_out, assay_in row_map, assay_in scales,
                                     assay_in residual, assay_in weight, double eps, assay_out out_norm,
                                     assay_out out_residual) {
  NormArgs args{};
  if (!contiguous(*gemm_out) || !contiguous(*scales) || !contiguous(*residual) ||
      !norm_args(residual, weight, eps, out_norm, out_residual, &args))
    return fail(call, ASSAY_UNSUPPORTED, "moe_finalize_ar_rmsnorm: inputs that are not contiguous");
  FinalizeArgs finalize{};
  finalize.rows = gemm_out->data;
  finalize.map = static_cast<const std::int32_t*>(row_map->data);
  finalize.scales = static_cast<const float*>(scales->data);
  finalize.map_step = scales->shape[0];
  finalize.places = static_cast<int>(scales->shape[1]);
  finalize.hidden = residual->shape[1];
  finalize.out = static_cast<float*>(call->workspace);
  const std::int64_t tokens = residual->shape[0];
  if (is(gemm_out->dtype, kDLFloat, 32)) return finalize_sum_and_norm<F32>(call, finalize, tokens, args);
  if (is(gemm_out->dtype, kDLFloat, 16)) return finalize_sum_and_norm<F16>(call, finalize, tokens, args);
  if (is(gemm_out->dtype, kDLBfloat, 16)) return finalize_sum_and_norm<BF16>(call, finalize, tokens, args);
  return fail(call, ASSAY_UNSUPPORTED, "moe_finalize_ar_rmsnorm: not fp32, fp16 or bf16");
}

assay_status init_residual_rmsnorm(const assay_call* call, void** state) {
  *state = nullptr;
  if (const cudaError_t error = preload_all(); error != cudaSuccess)
    return fail(call, ASSAY_ERROR, cudaGetErrorString(error));
  return get_ready(call);
}

}  // namespace assay_nccl
