// moe_gemm.cuh: the two grouped products of fused experts, one tile of tokens times one tile of weight rows a block.
//
//   first:  inter[position, n]   = act(gate, up),  gate = outer * <w13[e, n], x[token]>, up with row inter + n
//   second: partial[pair, h]   (+)= outer * <w2[e, h], inter[position]>
//
// Promises: fp32 accumulation, in an order that follows from the extents alone: a row's bits do not depend on other
// rows or on where it lies in a tile. fp32 runs on FMAs. 16-bit types and NVFP4 run on the tensor cores as TF32, in
// which their values are exact; the fp32 intermediate enters as a sum of two TF32 values (22 bits), so nothing is
// rounded to 16 bits between the products and nothing overflows that fp32 holds. Cells outside a tile are zeros in
// shared memory and are never read from global memory. Any extents; aligned rows are read in 16-byte groups. Who uses
// it: fused_experts.cu.
#pragma once

#include <mma.h>

#include <cstdint>
#include <type_traits>

#include "moe_routing.cuh"
#include "nvfp4.cuh"
#include "rows.cuh"

namespace assay_cuda {

constexpr int kGemmThreads = 128;
constexpr int kTileWeights = 128;               // weight rows of a tile
constexpr int kTileColumns = kTileWeights / 2;  // of the first product: as many gates as ups
constexpr int kTileDepth = 32;                  // of the sum, a step
constexpr int kDepthPitch = kTileDepth + 4;     // cells; keeps rows on 16 bytes and off each other's banks
constexpr int kResultPitch = kTileWeights + 4;
constexpr int kCells = 8;                     // that a thread reads at once
constexpr int kGroups = kTileDepth / kCells;  // of a row and step
constexpr std::int64_t kInterColumns = 1024;  // of the intermediate that one pair of launches holds
static_assert(kTileRows * kGroups == kGemmThreads, "one group of the token tile a thread");
static_assert(kTileRows * kResultPitch <= kTileWeights * kDepthPitch, "results reuse the weights' tile");

enum class Activation : int { silu, swigluoai };
enum class Product : int { first, second };

// Of -|gate|, since the exponential of a gate below -88.7 would overflow where the sigmoid is still a normal number.
__host__ __device__ inline float times_sigmoid(float value, float argument) {
  const float e = expf(-fabsf(argument));
  return (argument < 0.0f ? value * e : value) / (1.0f + e);
}

__host__ __device__ inline float activate(Activation activation, float gate, float up) {
  if (activation == Activation::silu) return times_sigmoid(gate, gate) * up;
  constexpr float kAlpha = 1.702f, kLimit = 7.0f;
  const float g = fminf(gate, kLimit), u = fminf(fmaxf(up, -kLimit), kLimit);
  return times_sigmoid(g, kAlpha * g) * (u + 1.0f);
}

// Cells [k, k + kCells) of a row; those from `limit` on are zeros.
template <class T>
__device__ void load_cells(const typename T::Cell* row, std::int64_t k, std::int64_t limit, bool vector,
                           float (&to)[kCells]) {
  if (vector && k + kCells <= limit) {
    typename T::Cell cells[kCells];
    constexpr int kReads = static_cast<int>(sizeof cells / sizeof(uint4));
#pragma unroll
    for (int i = 0; i < kReads; ++i) {
      const uint4 raw = reinterpret_cast<const uint4*>(row + k)[i];
      memcpy(cells + i * (kCells / kReads), &raw, sizeof raw);
    }
#pragma unroll
    for (int i = 0; i < kCells; ++i) to[i] = T::widen(cells[i]);
    return;
  }
#pragma unroll
  for (int i = 0; i < kCells; ++i) to[i] = k + i < limit ? T::widen(row[k + i]) : 0.0f;
}

// One expert's weights: rows x columns values in the run's type.
template <class T>
struct DenseMatrix {
  const typename T::Cell* data;
  std::int64_t rows, columns;
  bool vector;

  __device__ float outer(int) const { return 1.0f; }
  __device__ void load(int expert, std::int64_t row, std::int64_t k, std::int64_t limit, float (&to)[kCells]) const {
    load_cells<T>(data + (expert * rows + row) * columns, k, limit, vector, to);
  }
};

// The same in NVFP4. k is a multiple of kCells and limit one of 16, so a group is inside or outside as a whole.
struct Nvfp4Matrix {
  const std::uint8_t *packed, *scales;
  const float *alphas, *inverse;
  std::int64_t rows, columns;

  __device__ float outer(int expert) const { return alphas[expert] * inverse[expert]; }
  __device__ void load(int expert, std::int64_t row, std::int64_t k, std::int64_t limit, float (&to)[kCells]) const {
    static_assert(kCells == 8, "four bytes hold a group");
    std::uint32_t raw = 0;
    float scale = 0.0f;
    if (k < limit) {
      raw = *reinterpret_cast<const std::uint32_t*>(packed + ((expert * rows + row) * columns + k) / 2);
      scale =
          e4m3(scales[expert * scale_bytes(rows, columns) + swizzled(row, k / kScaledGroup, scale_columns(columns))]);
    }
#pragma unroll
    for (int i = 0; i < kCells; ++i) to[i] = e2m1(nibble_of(raw, i)) * scale;
  }
};

template <class Matrix>
struct GemmArgs {
  const MoeTile* tiles;
  const int* sorted;
  int top_k;
  Activation activation;
  const void* x;
  std::int64_t x_pitch;  // elements
  bool x_vector;
  float *inter, *partial;           // (pairs, kInterColumns) by position, (pairs, hidden) by pair
  std::int64_t hidden, inter_rows;  // inter_rows: of gates in w13, all of them
  std::int64_t first;               // column of the intermediate where this launch starts
  int width;                        // and how many it holds
  Matrix weights;
};

__device__ inline void store_cells(float* to, const float (&from)[kCells]) {
#pragma unroll
  for (int i = 0; i < kCells; i += 4)
    *reinterpret_cast<float4*>(to + i) = make_float4(from[i], from[i + 1], from[i + 2], from[i + 3]);
}

// A thread holds four rows that lie together and every 16th column.
class FmaTile {
 public:
  __device__ void multiply(const float* tokens, const float*, const float* weights) {
    const int y = static_cast<int>(threadIdx.x) / 16 * kRowsHeld, x = static_cast<int>(threadIdx.x) % 16;
    for (int k = 0; k < kTileDepth; k += 4) {
      float4 a[kRowsHeld], b[kColumnsHeld];
#pragma unroll
      for (int i = 0; i < kRowsHeld; ++i) a[i] = *reinterpret_cast<const float4*>(tokens + (y + i) * kDepthPitch + k);
#pragma unroll
      for (int j = 0; j < kColumnsHeld; ++j)
        b[j] = *reinterpret_cast<const float4*>(weights + (x + 16 * j) * kDepthPitch + k);
#pragma unroll
      for (int i = 0; i < kRowsHeld; ++i) {
#pragma unroll
        for (int j = 0; j < kColumnsHeld; ++j) {
          float sum = fmaf(a[i].x, b[j].x, sums_[i][j]);
          sum = fmaf(a[i].y, b[j].y, sum);
          sum = fmaf(a[i].z, b[j].z, sum);
          sums_[i][j] = fmaf(a[i].w, b[j].w, sum);
        }
      }
    }
  }
  __device__ void store(float* results) const {
    const int y = static_cast<int>(threadIdx.x) / 16 * kRowsHeld, x = static_cast<int>(threadIdx.x) % 16;
#pragma unroll
    for (int i = 0; i < kRowsHeld; ++i) {
#pragma unroll
      for (int j = 0; j < kColumnsHeld; ++j) results[(y + i) * kResultPitch + x + 16 * j] = sums_[i][j];
    }
  }

 private:
  static constexpr int kRowsHeld = 4, kColumnsHeld = 8;
  float sums_[kRowsHeld][kColumnsHeld] = {};
};

// A warp holds both groups of 16 rows and, of the result's columns, 16 in each half.
template <bool kSplit>
class TensorTile {
 public:
  __device__ TensorTile() {
    for (auto& row : sums_) {
      for (auto& fragment : row) nvcuda::wmma::fill_fragment(fragment, 0.0f);
    }
  }
  __device__ void multiply(const float* tokens, const float* remainders, const float* weights) {
    using namespace nvcuda::wmma;
    for (int k = 0; k < kTileDepth; k += kDepth) {
      fragment<matrix_b, 16, 16, kDepth, precision::tf32, col_major> b[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) load_matrix_sync(b[j], weights + column(j) * kDepthPitch + k, kDepthPitch);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        fragment<matrix_a, 16, 16, kDepth, precision::tf32, row_major> a;
        if (kSplit) {
          load_matrix_sync(a, remainders + 16 * i * kDepthPitch + k, kDepthPitch);
#pragma unroll
          for (int j = 0; j < 2; ++j) mma_sync(sums_[i][j], a, b[j], sums_[i][j]);
        }
        load_matrix_sync(a, tokens + 16 * i * kDepthPitch + k, kDepthPitch);
#pragma unroll
        for (int j = 0; j < 2; ++j) mma_sync(sums_[i][j], a, b[j], sums_[i][j]);
      }
    }
  }
  __device__ void store(float* results) const {
    using namespace nvcuda::wmma;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j)
        store_matrix_sync(results + 16 * i * kResultPitch + column(j), sums_[i][j], kResultPitch, mem_row_major);
    }
  }

 private:
  static constexpr int kDepth = 8;
  static __device__ int column(int half) { return half * kTileColumns + static_cast<int>(threadIdx.x) / 32 * 16; }
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, kDepth, float> sums_[2][2];
};

// The upper 11 significant bits of a value, which TF32 holds.
__host__ __device__ inline float upper_bits(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return float_of(bits & 0xffffe000u);
}

// Grid: tile slots by tiles of weight rows. Blocks whose slot has no tile leave at once.
template <class T, class Matrix, Product kProduct>
__global__ void __launch_bounds__(kGemmThreads) grouped_gemm_kernel(const __grid_constant__ GemmArgs<Matrix> args) {
  constexpr bool kFirst = kProduct == Product::first, kSplit = !kFirst && !std::is_same<T, F32>::value;
  constexpr int kWeightGroups = kTileWeights * kGroups / kGemmThreads;  // a thread reads
  using Result = std::conditional_t<std::is_same<T, F32>::value, FmaTile, TensorTile<kSplit>>;
  __shared__ __align__(128) float tokens[(kSplit ? 2 : 1) * kTileRows * kDepthPitch];
  __shared__ __align__(128) float weights[kTileWeights * kDepthPitch];
  float* const remainders = kSplit ? tokens + kTileRows * kDepthPitch : nullptr;

  const MoeTile tile = args.tiles[blockIdx.x];
  if (tile.rows == 0) return;
  const int thread = static_cast<int>(threadIdx.x), group = thread % kGroups;
  const std::int64_t base = static_cast<std::int64_t>(blockIdx.y) * (kFirst ? kTileColumns : kTileWeights);
  const std::int64_t begin = kFirst ? 0 : args.first, limit = kFirst ? args.hidden : begin + args.width;

  // The row of tokens and the rows of weights that this thread reads in every step; -1 for none.
  const int token_row = thread / kGroups;
  const int position = tile.begin + token_row;
  const typename T::Cell* x = nullptr;
  const float* inter = nullptr;
  if (token_row < tile.rows) {
    if (kFirst) {
      x = static_cast<const typename T::Cell*>(args.x) + args.sorted[position] / args.top_k * args.x_pitch;
    } else {
      inter = args.inter + position * kInterColumns;
    }
  }
  std::int64_t weight_rows[kWeightGroups];
#pragma unroll
  for (int i = 0; i < kWeightGroups; ++i) {
    const int row = thread / kGroups + i * (kGemmThreads / kGroups);
    if (kFirst) {
      const std::int64_t n = base + row % kTileColumns;
      weight_rows[i] = n < args.width ? row / kTileColumns * args.inter_rows + args.first + n : -1;
    } else {
      weight_rows[i] = base + row < args.hidden ? base + row : -1;
    }
  }

  float token_cells[kCells] = {}, weight_cells[kWeightGroups][kCells] = {};
  const auto read = [&](std::int64_t k) {
    k += group * kCells;
    if (x != nullptr) load_cells<T>(x, k, limit, args.x_vector, token_cells);
    if (inter != nullptr) load_cells<F32>(inter, k - begin, limit - begin, true, token_cells);
#pragma unroll
    for (int i = 0; i < kWeightGroups; ++i) {
      if (weight_rows[i] >= 0) args.weights.load(tile.expert, weight_rows[i], k, limit, weight_cells[i]);
    }
  };

  Result result;
  read(begin);
  for (std::int64_t k = begin; k < limit; k += kTileDepth) {
    float* const to = tokens + token_row * kDepthPitch + group * kCells;
    if (kSplit) {
      float upper[kCells], lower[kCells];
#pragma unroll
      for (int i = 0; i < kCells; ++i) {
        upper[i] = upper_bits(token_cells[i]);
        lower[i] = upper_bits(token_cells[i] - upper[i]);
      }
      store_cells(to, upper);
      store_cells(remainders + (to - tokens), lower);
    } else {
      store_cells(to, token_cells);
    }
#pragma unroll
    for (int i = 0; i < kWeightGroups; ++i)
      store_cells(weights + (thread / kGroups + i * (kGemmThreads / kGroups)) * kDepthPitch + group * kCells,
                  weight_cells[i]);
    __syncthreads();
    if (k + kTileDepth < limit) read(k + kTileDepth);  // arrives while this step is multiplied
    result.multiply(tokens, remainders, weights);
    __syncthreads();
  }

  float* const results = weights;
  result.store(results);
  __syncthreads();
  const float outer = args.weights.outer(tile.expert);
  constexpr int kColumns = kFirst ? kTileColumns : kTileWeights;
  const std::int64_t columns = kFirst ? args.width : args.hidden;
  for (int cell = thread; cell < tile.rows * kColumns; cell += kGemmThreads) {
    const int row = cell / kColumns, column = cell % kColumns;
    const std::int64_t n = base + column;
    if (n >= columns) continue;
    const float value = results[row * kResultPitch + column] * outer;
    if (kFirst) {
      const float up = results[row * kResultPitch + kTileColumns + column] * outer;
      args.inter[(tile.begin + row) * kInterColumns + n] = activate(args.activation, value, up);
    } else {
      float* const to = args.partial + args.sorted[tile.begin + row] * args.hidden + n;
      *to = args.first == 0 ? value : *to + value;
    }
  }
}

}  // namespace assay_cuda
