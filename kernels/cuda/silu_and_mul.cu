// activation.silu_and_mul: out = silu(gate) * up, where x is gate and up side by side.
//
// One thread computes kUnroll groups of a row: 16-byte groups where both halves and the output are aligned, single
// cells elsewhere (an odd d leaves the second half misaligned). A cell's bytes depend on its two inputs only, so both
// forms give the same result.
#include "entries.hpp"
#include "rows.cuh"

namespace assay_cuda {
namespace {

constexpr int kThreads = 256;

struct SiluArgs {
  Rows x, out;
  std::int64_t groups;  // per row
};

// The exponential is taken of -|gate|: that of a gate below -88.7 would overflow, where silu is still a normal number.
template <class T>
__device__ float silu(float gate) {
  if constexpr (sizeof(typename T::Cell) == 4) {
    const float e = expf(-fabsf(gate));
    return (gate < 0.0f ? gate * e : gate) / (1.0f + e);
  } else {
    // The fast forms' error, below 2^-17 of the result, is lost in a 16-bit rounding.
    const float e = __expf(-fabsf(gate));
    return __fdividef(gate < 0.0f ? gate * e : gate, 1.0f + e);
  }
}

template <class T, int kLanes>
__global__ void __launch_bounds__(kThreads) silu_and_mul_kernel(const __grid_constant__ SiluArgs args) {
  using Cell = typename T::Cell;
  constexpr int kUnroll = kLanes == 1 ? 4 : 2;
  const std::int64_t d = args.out.columns;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x * kUnroll + threadIdx.x;
  const std::int64_t row_step = static_cast<std::int64_t>(gridDim.y) * blockDim.y;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y; row < args.out.rows;
       row += row_step) {
    const Cell* gate = reinterpret_cast<const Cell*>(args.x.data) + args.x.start(row);
    const Cell* up = gate + d * args.x.column_step;
    Cell* out = reinterpret_cast<Cell*>(args.out.data) + args.out.start(row);
    Cell a[kUnroll][kLanes], b[kUnroll][kLanes];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const std::int64_t group = first + u * static_cast<std::int64_t>(blockDim.x);
      if (group >= args.groups) continue;
      if constexpr (kLanes == 1) {
        a[u][0] = gate[group * args.x.column_step];
        b[u][0] = up[group * args.x.column_step];
      } else {
        load_group<T>(gate + group * kLanes, a[u]);
        load_group<T>(up + group * kLanes, b[u]);
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const std::int64_t group = first + u * static_cast<std::int64_t>(blockDim.x);
      if (group >= args.groups) continue;
      Cell result[kLanes];
#pragma unroll
      for (int i = 0; i < kLanes; ++i) result[i] = T::narrow(silu<T>(T::widen(a[u][i])) * T::widen(b[u][i]));
      if constexpr (kLanes == 1) {
        out[group * args.out.column_step] = result[0];
      } else {
        store_group<T>(out + group * kLanes, result);
      }
    }
  }
}

template <class T, int kLanes>
assay_status run(const assay_call* call, SiluArgs& args) {
  constexpr int kUnroll = kLanes == 1 ? 4 : 2;
  args.groups = args.out.columns / kLanes;
  unsigned threads = 1;
  while (threads < kThreads && static_cast<std::int64_t>(threads) * kUnroll < args.groups) threads *= 2;
  const dim3 block(threads, kThreads / threads);
  const std::int64_t per_block = static_cast<std::int64_t>(threads) * kUnroll;
  const std::int64_t row_blocks = (args.out.rows + block.y - 1) / block.y;
  const dim3 grid(static_cast<unsigned>((args.groups + per_block - 1) / per_block),
                  static_cast<unsigned>(row_blocks < 65535 ? row_blocks : 65535));
  return launch(call, silu_and_mul_kernel<T, kLanes>, grid, block, args);
}

template <class T>
assay_status run(const assay_call* call, SiluArgs& args) {
  constexpr std::int64_t kBytes = sizeof(typename T::Cell);
  const bool vectors =
      rows_aligned(args.x, kBytes) && rows_aligned(args.out, kBytes) && args.out.columns % kGroup<T> == 0;
  return vectors ? run<T, kGroup<T>>(call, args) : run<T, 1>(call, args);
}

}  // namespace

assay_status silu_and_mul(const assay_call* call, assay_in x, assay_out out) {
  SiluArgs args{};
  if (!rows_of(*x, &args.x) || !rows_of(*out, &args.out))
    return fail(call, ASSAY_UNSUPPORTED, "silu_and_mul: more than 16 leading dimensions that do not merge");
  if (args.out.rows == 0 || args.out.columns == 0) return ASSAY_OK;
  if (is(x->dtype, kDLFloat, 32)) return run<F32>(call, args);
  if (is(x->dtype, kDLFloat, 16)) return run<F16>(call, args);
  if (is(x->dtype, kDLBfloat, 16)) return run<BF16>(call, args);
  return fail(call, ASSAY_UNSUPPORTED, "silu_and_mul: the dtype is not fp32, fp16 or bf16");
}

int preload_silu_and_mul() {
  void (*const kernels[])(SiluArgs) = {
      silu_and_mul_kernel<F32, 1>,  silu_and_mul_kernel<F32, kGroup<F32>>,
      silu_and_mul_kernel<F16, 1>,  silu_and_mul_kernel<F16, kGroup<F16>>,
      silu_and_mul_kernel<BF16, 1>, silu_and_mul_kernel<BF16, kGroup<BF16>>,
  };
  for (auto kernel : kernels) {
    if (const cudaError_t error = preload(kernel); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace assay_cuda
