// attention.sdpa: softmax over the visible keys of each query, with an online softmax over tiles of keys.
//
// A block serves rows of one key/value head: row i is query i / group, head i % group of those that share it, so that
// a tile of keys is read once for the whole group. fp16 and bf16 go through tensor cores up to 256 columns, with
// probabilities in the run type; fp32 and wider heads through fp32 arithmetic. The tiles of keys begin at key 0
// whatever the row, so a row's bytes do not depend on other rows. A row without keys is zeros.
#include <vector>

#include "attention.cuh"
#include "entries.hpp"
#include "tensor_core.cuh"

namespace assay_cuda {
namespace {

struct SdpaArgs {
  const void *q, *k, *v;
  void* out;
  std::int64_t queries, keys, q_heads, kv_heads, group;
  std::int64_t out_row, out_head;  // strides in cells
  float scale;
  int dim;
  bool causal, vectors;

  // Keys that a row sees are those before this one.
  __device__ std::int64_t end_of(std::int64_t row) const {
    if (row >= queries * group) return 0;
    if (!causal) return keys;
    const std::int64_t end = row / group + (keys - queries) + 1;
    return end < 0 ? 0 : end;
  }
  // Cells from the start of q and of out to a row of kv head `head`.
  __device__ std::int64_t start_of(std::int64_t row, std::int64_t head) const {
    return ((row / group) * q_heads + head * group + row % group) * dim;
  }
  __device__ std::int64_t out_start_of(std::int64_t row, std::int64_t head) const {
    return row / group * out_row + (head * group + row % group) * out_head;
  }
};

// The block's place: tiles of rows from the last to the first, since the last ones see most keys and take longest.
struct Place {
  std::int64_t head, row;
  __device__ Place(const SdpaArgs& a, int rows_of_tile) {
    const std::int64_t tiles = ceil_div(a.queries * a.group, rows_of_tile);
    head = blockIdx.x % a.kv_heads;
    row = (tiles - 1 - blockIdx.x / a.kv_heads) * rows_of_tile;
  }
};

constexpr int kRows = 64;  // of a block, 16 a warp
constexpr int kKeys = 64;  // of a tile

// Copies `rows` rows of cells into shared memory at a pitch; rows past the end and columns past the head are zeros.
// `start(i)` is row i's first cell, NULL past the end. Vectors arrive asynchronously.
template <class T, int kDim, class Start>
__device__ void fill(typename T::Cell* to, int dim, bool vectors, Start start) {
  using Cell = typename T::Cell;
  constexpr int kGroups = kDim / 8, kPitch = kDim + 8;
#pragma unroll 4
  for (int i = threadIdx.x; i < kRows * kGroups; i += kTileThreads) {
    const int row = i / kGroups, column = i % kGroups * 8;
    const Cell* from = start(row);
    Cell* place = to + row * kPitch + column;
    if (from != nullptr && vectors && column < dim) {
      start_copy(place, from + column);
      continue;
    }
    Cell cells[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) cells[c] = from != nullptr && column + c < dim ? from[column + c] : T::narrow(0.0f);
    memcpy(place, cells, sizeof cells);
  }
}

// One tile: logits of the warp's 16 rows against kKeys keys. Fragments of m16n8k16: a thread holds, of its rows
// lane / 4 and lane / 4 + 8, the keys 8 n + lane % 4 * 2 and the next one.
template <class T, int kDim>
__device__ void logits(const typename T::Cell* queries, const typename T::Cell* keys, float (&s)[kKeys / 8][4]) {
  constexpr int kPitch = kDim + 8;
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) s[n][0] = s[n][1] = s[n][2] = s[n][3] = 0.0f;
#pragma unroll
  for (int c = 0; c < kDim; c += 16) {
    unsigned a[4];
    load_matrices(a, queries + (warp * 16 + lane % 16) * kPitch + c + lane / 16 * 8);
#pragma unroll
    for (int n = 0; n < kKeys / 8; n += 2) {
      unsigned b[4];
      load_matrices(b, keys + (n * 8 + lane / 16 * 8 + lane % 8) * kPitch + c + lane / 8 % 2 * 8);
      multiply_add<T>(s[n], a, b[0], b[1]);
      multiply_add<T>(s[n + 1], a, b[2], b[3]);
    }
  }
}

template <class T, int kDim>
__global__ void __launch_bounds__(kTileThreads) tensor_core_sdpa_kernel(const __grid_constant__ SdpaArgs args) {
  using Cell = typename T::Cell;
  constexpr int kPitch = kDim + 8;
  extern __shared__ uint4 shared[];
  Cell* queries = reinterpret_cast<Cell*>(shared);
  Cell* keys = queries + kRows * kPitch;
  Cell* values = keys + kKeys * kPitch;

  const Place place(args, kRows);
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const std::int64_t rows = args.queries * args.group;
  const std::int64_t last = place.row + kRows < rows ? place.row + kRows - 1 : rows - 1;
  const std::int64_t end = args.end_of(last), pitch = args.kv_heads * args.dim;
  const Cell* q = static_cast<const Cell*>(args.q);
  const Cell* k = static_cast<const Cell*>(args.k) + place.head * args.dim;
  const Cell* v = static_cast<const Cell*>(args.v) + place.head * args.dim;
  const auto query = [&](int row) -> const Cell* {
    return place.row + row < rows ? q + args.start_of(place.row + row, place.head) : nullptr;
  };
  const auto load = [&](Cell* to, const Cell* from, std::int64_t first) {
    fill<T, kDim>(to, args.dim, args.vectors,
                  [&](int row) -> const Cell* { return first + row < end ? from + (first + row) * pitch : nullptr; });
  };

  // This thread's two rows.
  const std::int64_t mine = place.row + warp * 16 + lane / 4;
  const std::int64_t ends[2] = {args.end_of(mine), args.end_of(mine + 8)};
  const float scale = args.scale * 1.44269504f;  // powers of two
  float top[2] = {-INFINITY, -INFINITY}, below[2] = {0.0f, 0.0f};
  float sum[kDim / 8][4];
#pragma unroll
  for (int n = 0; n < kDim / 8; ++n) sum[n][0] = sum[n][1] = sum[n][2] = sum[n][3] = 0.0f;

  fill<T, kDim>(queries, args.dim, args.vectors, query);
  load(keys, k, 0);
  end_copy_group();
  for (std::int64_t first = 0; first < end; first += kKeys) {
    load(values, v, first);
    end_copy_group();
    wait_for_copies<1>();
    __syncthreads();
    float s[kKeys / 8][4];
    logits<T, kDim>(queries, keys, s);
    __syncthreads();
    // The next keys arrive while this tile is weighed; a group is ended in any case, so that the counts hold.
    if (first + kKeys < end) load(keys, k, first + kKeys);
    end_copy_group();

    float keep[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float highest = -INFINITY;
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& logit = s[n][half * 2 + i];
          if (first + n * 8 + lane % 4 * 2 + i >= ends[half]) logit = -INFINITY;
          highest = fmaxf(highest, logit);
        }
      }
      highest = fmaxf(highest, __shfl_xor_sync(kAllLanes, highest, 1));
      highest = fmaxf(highest, __shfl_xor_sync(kAllLanes, highest, 2));
      highest = fmaxf(highest, top[half]);
      const bool any = highest > -INFINITY;
      keep[half] = any ? exp2f((top[half] - highest) * scale) : 1.0f;
      top[half] = highest;
      below[half] *= keep[half];
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& p = s[n][half * 2 + i];
          // The denominator sums what the product will use: rounding then cancels where values are alike.
          p = any ? T::widen(T::narrow(exp2f((p - highest) * scale))) : 0.0f;
          below[half] += p;
        }
      }
    }
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n) {
      sum[n][0] *= keep[0];
      sum[n][1] *= keep[0];
      sum[n][2] *= keep[1];
      sum[n][3] *= keep[1];
    }

    wait_for_copies<1>();
    __syncthreads();
#pragma unroll
    for (int key = 0; key < kKeys; key += 16) {
      const int n = key / 8;
      const unsigned a[4] = {pack<T>(s[n][0], s[n][1]), pack<T>(s[n][2], s[n][3]), pack<T>(s[n + 1][0], s[n + 1][1]),
                             pack<T>(s[n + 1][2], s[n + 1][3])};
#pragma unroll
      for (int c = 0; c < kDim; c += 16) {
        unsigned b[4];
        load_matrices_transposed(b, values + (key + lane % 16) * kPitch + c + lane / 16 * 8);
        multiply_add<T>(sum[c / 8], a, b[0], b[1]);
        multiply_add<T>(sum[c / 8 + 1], a, b[2], b[3]);
      }
    }
    __syncthreads();
  }
  wait_for_copies<0>();

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float total = below[half];
    total += __shfl_xor_sync(kAllLanes, total, 1);
    total += __shfl_xor_sync(kAllLanes, total, 2);
    const std::int64_t row = mine + half * 8;
    if (row >= rows) continue;
    const float factor = total > 0.0f ? 1.0f / total : 0.0f;
    Cell* out = static_cast<Cell*>(args.out) + args.out_start_of(row, place.head);
#pragma unroll
    for (int n = 0; n < kDim / 8; ++n) {
      const int column = n * 8 + lane % 4 * 2;
      const float low = sum[n][half * 2] * factor, high = sum[n][half * 2 + 1] * factor;
      if (args.vectors) {
        if (column < args.dim) *reinterpret_cast<unsigned*>(out + column) = pack<T>(low, high);
      } else {
        if (column < args.dim) out[column] = T::narrow(low);
        if (column + 1 < args.dim) out[column + 1] = T::narrow(high);
      }
    }
  }
}

// kColumns: columns of a head in one lane's registers.
template <class T, int kColumns, int kRowsOfWarp>
__global__ void __launch_bounds__(kTileThreads) plain_sdpa_kernel(const __grid_constant__ SdpaArgs args) {
  using Cell = typename T::Cell;
  extern __shared__ uint4 shared[];
  constexpr int kBlockRows = kRowsOfWarp * kTileWarps;
  const Tile tile(reinterpret_cast<float*>(shared), kBlockRows, args.dim);
  const Place place(args, kBlockRows);
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const std::int64_t rows = args.queries * args.group;
  const std::int64_t last = place.row + kBlockRows < rows ? place.row + kBlockRows - 1 : rows - 1;
  const std::int64_t end = args.end_of(last);
  const int first_row = warp * kRowsOfWarp;
  const std::int64_t ahead = last - (place.row + first_row) + 1;
  const int live = ahead < 0 ? 0 : ahead < kRowsOfWarp ? static_cast<int>(ahead) : kRowsOfWarp;
  const Cell* k = static_cast<const Cell*>(args.k) + place.head * args.dim;
  const Cell* v = static_cast<const Cell*>(args.v) + place.head * args.dim;

  for (int r = 0; r < kRowsOfWarp; ++r) {
    const Cell* row =
        r < live ? static_cast<const Cell*>(args.q) + args.start_of(place.row + first_row + r, place.head) : nullptr;
    copy_row<T>(row, args.dim, tile.columns, args.vectors, lane, kWarp, tile.queries + (first_row + r) * tile.columns);
  }
  Softmax<kRowsOfWarp, kColumns> softmax;
  for (std::int64_t first = 0; first < end; first += kTileKeys) {
    const std::int64_t key = first + lane;
    const std::int64_t offset = key < end ? key * args.kv_heads * args.dim : -1;
    __syncthreads();
    load_keys<T>(tile, k, offset, args.dim, args.vectors);
    __syncthreads();
    float s[kRowsOfWarp];
    dots<kRowsOfWarp>(tile, first_row, live, s);
#pragma unroll
    for (int r = 0; r < kRowsOfWarp; ++r) {
      if (r >= live || key >= args.end_of(place.row + first_row + r)) s[r] = -INFINITY;
    }
    softmax.weigh(tile, first_row, live, args.scale, s);
    __syncthreads();
    load_keys<T>(tile, v, offset, args.dim, args.vectors);
    __syncthreads();
    softmax.add(tile, first_row, live, kTileKeys);
  }
#pragma unroll
  for (int r = 0; r < kRowsOfWarp; ++r) {
    if (r >= live) break;
    const float total = sum_over_warp(softmax.below[r]);
    const float factor = total > 0.0f ? 1.0f / total : 0.0f;
    Cell* out = static_cast<Cell*>(args.out) + args.out_start_of(place.row + first_row + r, place.head);
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      const int column = lane + i * kWarp;
      if (column < args.dim) out[column] = T::narrow(softmax.sum[r][i] * factor);
    }
  }
}

using Kernel = void (*)(SdpaArgs);
struct Choice {
  Kernel kernel;
  int dim, rows;
  std::size_t shared;
};

constexpr std::size_t tensor_core_bytes(int dim) { return std::size_t{2} * (kRows + 2 * kKeys) * (dim + 8); }

// By width; a head takes the first one that it fits in.
template <class T>
std::vector<Choice> choices_of() {
  const Choice widest = {plain_sdpa_kernel<T, 16, 4>, 512, 16, Tile::bytes(16, 512)};
  if constexpr (sizeof(typename T::Cell) == 2) {
    return {{tensor_core_sdpa_kernel<T, 64>, 64, kRows, tensor_core_bytes(64)},
            {tensor_core_sdpa_kernel<T, 128>, 128, kRows, tensor_core_bytes(128)},
            {tensor_core_sdpa_kernel<T, 192>, 192, kRows, tensor_core_bytes(192)},
            {tensor_core_sdpa_kernel<T, 256>, 256, kRows, tensor_core_bytes(256)},
            widest};
  } else {
    return {{plain_sdpa_kernel<T, 2, 8>, 64, 32, Tile::bytes(32, 64)},
            {plain_sdpa_kernel<T, 4, 8>, 128, 32, Tile::bytes(32, 128)},
            {plain_sdpa_kernel<T, 8, 8>, 256, 32, Tile::bytes(32, 256)},
            widest};
  }
}
template <class T>
const std::vector<Choice>& choices() {
  static const std::vector<Choice> all = choices_of<T>();
  return all;
}

template <class T>
assay_status run(const assay_call* call, SdpaArgs args) {
  args.vectors = vector_rows<T>(args.q, args.dim) && vector_rows<T>(args.k, args.dim) &&
                 vector_rows<T>(args.v, args.dim) && vector_rows<T>(args.out, args.dim) && args.out_row % 2 == 0 &&
                 args.out_head % 2 == 0;
  const Choice* choice = choices<T>().data();
  while (args.dim > choice->dim) ++choice;
  const std::int64_t tiles = ceil_div(args.queries * args.group, choice->rows);
  return launch_shared(call, choice->kernel, tiles * args.kv_heads, kTileThreads, choice->shared, args);
}

template <class T>
cudaError_t preload_all() {
  for (const Choice& choice : choices<T>()) {
    if (const cudaError_t error = preload_shared(choice.kernel, choice.shared); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace

assay_status attention(const assay_call* call, assay_in q, assay_in k, assay_in v, assay_out out, double sm_scale,
                       std::int32_t causal) {
  SdpaArgs args{};
  args.q = q->data;
  args.k = k->data;
  args.v = v->data;
  args.out = out->data;
  args.out_row = out->strides[0];
  args.out_head = out->strides[1];
  args.queries = q->shape[0];
  args.q_heads = q->shape[1];
  args.keys = k->shape[0];
  args.kv_heads = k->shape[1];
  args.dim = static_cast<int>(q->shape[2]);
  args.scale = static_cast<float>(sm_scale);
  args.causal = causal != 0;
  if (args.queries == 0 || args.q_heads == 0 || args.dim == 0) return ASSAY_OK;
  if (q->shape[2] > kMaxHeadDim) return fail(call, ASSAY_UNSUPPORTED, "attention: head_dim is over 512");
  args.group = args.q_heads / args.kv_heads;
  if (is(q->dtype, kDLFloat, 32)) return run<F32>(call, args);
  if (is(q->dtype, kDLFloat, 16)) return run<F16>(call, args);
  if (is(q->dtype, kDLBfloat, 16)) return run<BF16>(call, args);
  return fail(call, ASSAY_UNSUPPORTED, "attention: the dtype is not fp32, fp16 or bf16");
}

int preload_attention() {
  if (const cudaError_t error = preload_all<F32>(); error != cudaSuccess) return error;
  if (const cudaError_t error = preload_all<F16>(); error != cudaSuccess) return error;
  return preload_all<BF16>();
}

}  // namespace assay_cuda
