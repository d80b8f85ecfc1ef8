// attention.cuh: attention of a few query rows over tiles of 32 keys in fp32, and what the attention kernels share.
//
// Promises: a row's bytes depend on its own keys and their order only. A key that a row may not see adds nothing, and
// rows that no query may see are never read. Tiles hold fp32 whatever the type; sums are fp32.
// Who uses it: attention.cu (fp32, wide heads), attention_decode.cu, msa_prefill_block_score.cu.
//
//   Tile tile(shared, rows, dim);
//   load_queries<T>(tile, ...);
//   for (each 32 keys) { load_keys<T>(...); __syncthreads(); dots<kRows>(tile, s); ... }
#pragma once

#include <cmath>

#include "rows.cuh"

namespace assay_cuda {

constexpr int kWarp = 32;
constexpr int kTileWarps = 4;
constexpr int kTileThreads = kTileWarps * kWarp;
constexpr int kTileKeys = kWarp;  // one key a lane
constexpr int kMaxHeadDim = 512;
constexpr unsigned kAllLanes = 0xffffffffu;

__host__ __device__ constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Shared memory of one block: query rows, one tile of keys or values, and probabilities. Query rows start on 16 bytes;
// the pitch of keys is odd, so that 32 lanes read one column of 32 keys from 32 banks.
struct Tile {
  __host__ __device__ Tile(float* shared, int query_rows, int dim)
      : columns((dim + 3) / 4 * 4),
        pitch(columns + 1),
        queries(shared),
        keys(queries + query_rows * columns),
        probabilities(keys + kTileKeys * pitch) {}
  static std::size_t bytes(int query_rows, int dim) {
    const Tile t(nullptr, query_rows, dim);
    return sizeof(float) * (query_rows * t.columns + kTileKeys * t.pitch + query_rows * kTileKeys);
  }
  int columns, pitch;
  float *queries, *keys, *probabilities;
};

// Copies one row of `dim` cells as fp32 by `lanes` threads, of which this one is number `lane`; zeros up to `columns`,
// and nothing but zeros where there is no row.
template <class T>
__device__ void copy_row(const typename T::Cell* row, int dim, int columns, bool vectors, int lane, int lanes,
                         float* to) {
  constexpr int kCells = kGroup<T>;
  if (row == nullptr) {
    for (int c = lane; c < columns; c += lanes) to[c] = 0.0f;
    return;
  }
  if (vectors) {
    for (int c = lane * kCells; c < dim; c += lanes * kCells) {
      typename T::Cell cells[kCells];
      const uint4 raw = __ldg(reinterpret_cast<const uint4*>(row + c));
      memcpy(cells, &raw, sizeof raw);
#pragma unroll
      for (int i = 0; i < kCells; ++i) to[c + i] = T::widen(cells[i]);
    }
    return;
  }
  for (int c = lane; c < columns; c += lanes) to[c] = c < dim ? T::widen(row[c]) : 0.0f;
}

// Loads 32 rows by a whole block: row i starts at base + offset, for the offset that lane i of each warp holds; a
// negative one stands for a row of zeros.
template <class T>
__device__ void load_keys(const Tile& tile, const typename T::Cell* base, std::int64_t offset, int dim, bool vectors) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  constexpr int kRowsOfWarp = kTileKeys / kTileWarps, kCells = kGroup<T>;
  int lanes = kWarp / kRowsOfWarp;  // of one row
  while (lanes < kWarp && lanes * (vectors ? kCells : 1) < dim) lanes *= 2;
  const int at_once = kWarp / lanes, first = warp * kRowsOfWarp + lane / lanes, column = lane % lanes * kCells;
  if (!vectors || lanes * kCells < dim) {
    for (int i = 0; i < kRowsOfWarp; i += at_once) {
      const std::int64_t start = __shfl_sync(kAllLanes, offset, first + i);
      copy_row<T>(start < 0 ? nullptr : base + start, dim, tile.columns, vectors, lane % lanes, lanes,
                  tile.keys + (first + i) * tile.pitch);
    }
    return;
  }
  // One group a lane and row: all of them are on their way before the first is waited for.
  uint4 groups[kRowsOfWarp];
#pragma unroll
  for (int i = 0; i < kRowsOfWarp; ++i) {
    groups[i] = make_uint4(0, 0, 0, 0);
    if (i * at_once >= kRowsOfWarp) continue;
    const std::int64_t start = __shfl_sync(kAllLanes, offset, first + i * at_once);
    if (start >= 0 && column < dim) groups[i] = __ldg(reinterpret_cast<const uint4*>(base + start + column));
  }
#pragma unroll
  for (int i = 0; i < kRowsOfWarp; ++i) {
    if (i * at_once >= kRowsOfWarp) continue;
    const uint4 group = groups[i];
    typename T::Cell cells[kCells];
    memcpy(cells, &group, sizeof cells);
    float* to = tile.keys + (first + i * at_once) * tile.pitch + column;
#pragma unroll
    for (int c = 0; c < kCells; ++c) {
      if (column < dim) to[c] = T::widen(cells[c]);
    }
  }
}

// s[r] = <query row r of the warp, key of the lane>, for the first `live` of kRows rows. Four sums a row, one for each
// column modulo 4.
template <int kRows>
__device__ void dots(const Tile& tile, int first_row, int live, float (&s)[kRows]) {
  const float* key = tile.keys + threadIdx.x % kWarp * tile.pitch;
#pragma unroll
  for (int r = 0; r < kRows; ++r) s[r] = 0.0f;
  for (int c = 0; c < tile.columns; c += 4) {
    const float k0 = key[c], k1 = key[c + 1], k2 = key[c + 2], k3 = key[c + 3];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= live) break;
      const float4 q = *reinterpret_cast<const float4*>(tile.queries + (first_row + r) * tile.columns + c);
      s[r] += fmaf(q.x, k0, q.y * k1) + fmaf(q.z, k2, q.w * k3);
    }
  }
}

__device__ inline float max_over_warp(float value) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, lane));
  return value;
}
__device__ inline float sum_over_warp(float value) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) value += __shfl_xor_sync(kAllLanes, value, lane);
  return value;
}

// The running softmax of a warp's kRows rows. A lane holds columns lane, lane + 32, ... of each row's sum of values and
// its own share of the denominator; maxima are the same in all lanes and in units of the unscaled logit.
template <int kRows, int kColumns>
struct Softmax {
  float top[kRows], below[kRows], sum[kRows][kColumns];

  __device__ Softmax() {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      top[r] = -INFINITY;
      below[r] = 0.0f;
#pragma unroll
      for (int i = 0; i < kColumns; ++i) sum[r][i] = 0.0f;
    }
  }

  // Takes in the lane's logits, -inf where the row may not see the key, and leaves probabilities in the tile.
  __device__ void weigh(const Tile& tile, int first_row, int live, float scale, const float (&s)[kRows]) {
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= live) break;
      const float higher = fmaxf(top[r], max_over_warp(s[r]));
      // No key so far: a difference of infinities would be NaN.
      const bool any = higher > -INFINITY;
      const float p = any ? expf(scale * (s[r] - higher)) : 0.0f;
      const float keep = any ? expf(scale * (top[r] - higher)) : 1.0f;
      top[r] = higher;
      below[r] = below[r] * keep + p;
#pragma unroll
      for (int i = 0; i < kColumns; ++i) sum[r][i] *= keep;
      tile.probabilities[(first_row + r) * kTileKeys + lane] = p;
    }
  }

  // Adds the tile's values, by the probabilities that `weigh` left.
  __device__ void add(const Tile& tile, int first_row, int live, int keys) {
    const int lane = threadIdx.x % kWarp;
    for (int k = 0; k < keys; ++k) {
      float value[kColumns];
#pragma unroll
      for (int i = 0; i < kColumns; ++i)
        value[i] = lane + i * kWarp < tile.columns ? tile.keys[k * tile.pitch + lane + i * kWarp] : 0.0f;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (r >= live) break;
        const float p = tile.probabilities[(first_row + r) * kTileKeys + k];
#pragma unroll
        for (int i = 0; i < kColumns; ++i) sum[r][i] = fmaf(p, value[i], sum[r][i]);
      }
    }
  }
};

template <class Args>
assay_status launch_shared(const assay_call* call, void (*kernel)(Args), std::int64_t blocks, int threads,
                           std::size_t shared, const Args& args) {
  if (blocks > 0x7fffffff) return fail(call, ASSAY_UNSUPPORTED, "the call is too large for one grid");
  kernel<<<static_cast<unsigned>(blocks), threads, shared, call->cuda_stream>>>(args);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? ASSAY_OK : fail(call, ASSAY_ERROR, cudaGetErrorString(error));
}

// Loads a kernel and lets it ask for so much shared memory at launch: more than 48 KiB has to be allowed first.
template <class Args>
cudaError_t preload_shared(void (*kernel)(Args), std::size_t shared) {
  if (const cudaError_t error = preload(kernel); error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
}

// Whether rows of `dim` cells that follow each other from `data` all start on 16 bytes.
template <class T>
bool vector_rows(const void* data, std::int64_t dim) {
  return dim % kGroup<T> == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

}  // namespace assay_cuda
