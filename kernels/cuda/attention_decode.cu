// attention.decode: one query token a request over the tokens of its selected blocks, through a page table.
//
// The places of a request's selection, block_size a selected block, are cut into splits; a block of threads attends one
// split for up to 16 heads of one key/value head, so that keys and values are read once for them. A place counts if its
// id is not negative and its position is below the length; others are never read. Splits leave maximum, denominator
// and sum of values in the workspace, a second kernel merges them in order. The cut depends on block_size and top_k
// only, so a row's bytes do not depend on other requests. A row without tokens is zeros.
#include <vector>

#include "attention.cuh"
#include "entries.hpp"

namespace assay_cuda {
namespace {

constexpr int kRowsOfWarp = 4;
constexpr int kRows = kRowsOfWarp * kTileWarps;
constexpr std::int64_t kMaxSplits = 32;
constexpr std::int64_t kPlacesOfSplit = 64;  // at least

struct DecodeArgs {
  const void *q, *k, *v;
  const std::int32_t *table, *lengths, *rows, *selected;
  void* out;
  float* partial;  // per request, head and split: maximum, denominator, dim sums
  std::int64_t batch, q_heads, kv_heads, group, capacity, width, block_size, splits, places_of_split;
  std::int64_t out_row, out_head;  // strides in cells
  float scale;
  int dim;
  bool vectors;

  __device__ float* partial_of(std::int64_t request, std::int64_t head, std::int64_t split) const {
    return partial + ((request * q_heads + head) * splits + split) * (dim + 2);
  }
};

// Cells from the start of a cache to the token in this place of the selection; -1 where there is none.
__device__ std::int64_t token_in(const DecodeArgs& a, std::int64_t request, std::int64_t kv_head, std::int64_t place,
                                 std::int64_t length) {
  const std::int64_t block = a.selected[(kv_head * a.batch + request) * a.width + place / a.block_size];
  const std::int64_t position = block * a.block_size + place % a.block_size;
  if (block < 0 || position >= length) return -1;
  const std::int64_t slot = a.table[a.rows[request] * a.capacity + position];
  return (slot * a.kv_heads + kv_head) * a.dim;
}

template <class T, int kColumns>
__global__ void __launch_bounds__(kTileThreads) split_decode_kernel(const __grid_constant__ DecodeArgs args) {
  using Cell = typename T::Cell;
  extern __shared__ uint4 shared[];
  const Tile tile(reinterpret_cast<float*>(shared), kRows, args.dim);
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const std::int64_t head_tiles = ceil_div(args.group, kRows);
  std::int64_t rest = blockIdx.x;
  const std::int64_t split = rest % args.splits;
  rest /= args.splits;
  const std::int64_t first_head = rest % head_tiles * kRows + warp * kRowsOfWarp;  // of the group
  rest /= head_tiles;
  const std::int64_t kv_head = rest % args.kv_heads, request = rest / args.kv_heads;
  const int first_row = warp * kRowsOfWarp;
  const std::int64_t ahead = args.group - first_head;
  const int live = ahead < 0 ? 0 : ahead < kRowsOfWarp ? static_cast<int>(ahead) : kRowsOfWarp;
  const std::int64_t head = kv_head * args.group + first_head;

  for (int r = 0; r < kRowsOfWarp; ++r) {
    const Cell* row =
        r < live ? static_cast<const Cell*>(args.q) + (request * args.q_heads + head + r) * args.dim : nullptr;
    copy_row<T>(row, args.dim, tile.columns, args.vectors, lane, kWarp, tile.queries + (first_row + r) * tile.columns);
  }
  std::int64_t length = args.lengths[request];
  if (length > args.capacity) length = args.capacity;
  const std::int64_t all = args.width * args.block_size;
  const std::int64_t begin = split * args.places_of_split;
  const std::int64_t end = begin + args.places_of_split < all ? begin + args.places_of_split : all;
  Softmax<kRowsOfWarp, kColumns> softmax;
  for (std::int64_t first = begin; first < end; first += kTileKeys) {
    const std::int64_t offset =
        first + lane < end ? token_in(args, request, kv_head, first + lane, length) : std::int64_t{-1};
    // All warps hold the same offsets, so they skip the same tiles.
    if (__ballot_sync(kAllLanes, offset >= 0) == 0) continue;
    __syncthreads();
    load_keys<T>(tile, static_cast<const Cell*>(args.k), offset, args.dim, args.vectors);
    __syncthreads();
    float s[kRowsOfWarp];
    dots<kRowsOfWarp>(tile, first_row, live, s);
#pragma unroll
    for (int r = 0; r < kRowsOfWarp; ++r) {
      if (offset < 0) s[r] = -INFINITY;
    }
    softmax.weigh(tile, first_row, live, args.scale, s);
    __syncthreads();
    load_keys<T>(tile, static_cast<const Cell*>(args.v), offset, args.dim, args.vectors);
    __syncthreads();
    softmax.add(tile, first_row, live, kTileKeys);
  }
#pragma unroll
  for (int r = 0; r < kRowsOfWarp; ++r) {
    if (r >= live) break;
    const float total = sum_over_warp(softmax.below[r]);
    float* partial = args.partial_of(request, head + r, split);
    if (lane == 0) {
      partial[0] = softmax.top[r];
      partial[1] = total;
    }
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      if (lane + i * kWarp < args.dim) partial[2 + lane + i * kWarp] = softmax.sum[r][i];
    }
  }
}

// One warp a row of the output.
template <class T>
__global__ void __launch_bounds__(kTileThreads) merge_decode_kernel(const __grid_constant__ DecodeArgs args) {
  using Cell = typename T::Cell;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kTileWarps + threadIdx.x / kWarp;
  if (row >= args.batch * args.q_heads) return;
  const std::int64_t request = row / args.q_heads, head = row % args.q_heads;
  const int lane = threadIdx.x % kWarp;
  static_assert(kMaxSplits == kWarp, "one split a lane");
  // Splits without tokens have a maximum of -inf: they weigh nothing, and so does a row of nothing but those.
  const float* mine = args.partial_of(request, head, lane < args.splits ? lane : 0);
  const float top = lane < args.splits ? mine[0] : -INFINITY;
  const float highest = max_over_warp(top);
  const float weight = top > -INFINITY ? expf(args.scale * (top - highest)) : 0.0f;
  const float total = sum_over_warp(top > -INFINITY ? weight * mine[1] : 0.0f);
  const float factor = total > 0.0f ? 1.0f / total : 0.0f;
  Cell* out = static_cast<Cell*>(args.out) + request * args.out_row + head * args.out_head;
  const int splits = static_cast<int>(args.splits);
  for (int first = 0; first < args.dim; first += kWarp) {
    const int column = first + lane;
    float sum = 0.0f;
    for (int s = 0; s < splits; ++s) {
      const float w = __shfl_sync(kAllLanes, weight, s);
      if (column < args.dim) sum = fmaf(w, args.partial_of(request, head, s)[2 + column], sum);
    }
    if (column < args.dim) out[column] = T::narrow(sum * factor);
  }
}

using Kernel = void (*)(DecodeArgs);
struct Choice {
  Kernel kernel;
  int dim;
};

// By width; a head takes the first one that it fits in.
template <class T>
constexpr Choice kChoices[] = {{split_decode_kernel<T, 1>, 32},
                               {split_decode_kernel<T, 2>, 64},
                               {split_decode_kernel<T, 4>, 128},
                               {split_decode_kernel<T, 8>, 256},
                               {split_decode_kernel<T, 16>, 512}};

template <class T>
assay_status run(const assay_call* call, DecodeArgs args) {
  args.vectors =
      vector_rows<T>(args.q, args.dim) && vector_rows<T>(args.k, args.dim) && vector_rows<T>(args.v, args.dim);
  const Choice* choice = kChoices<T>;
  while (args.dim > choice->dim) ++choice;
  const std::int64_t blocks = args.batch * args.kv_heads * ceil_div(args.group, kRows) * args.splits;
  const assay_status status =
      launch_shared(call, choice->kernel, blocks, kTileThreads, Tile::bytes(kRows, args.dim), args);
  if (status != ASSAY_OK) return status;
  return launch_shared(call, merge_decode_kernel<T>, ceil_div(args.batch * args.q_heads, kTileWarps), kTileThreads, 0,
                       args);
}

template <class T>
cudaError_t preload_all() {
  for (const Choice& choice : kChoices<T>) {
    const cudaError_t error = preload_shared(choice.kernel, Tile::bytes(kRows, choice.dim));
    if (error != cudaSuccess) return error;
  }
  return preload(merge_decode_kernel<T>);
}

std::size_t partial_bytes(std::int64_t batch, std::int64_t q_heads, std::int64_t splits, std::int64_t dim) {
  return sizeof(float) * static_cast<std::size_t>(batch * q_heads * splits * (dim + 2));
}

}  // namespace

assay_status attention_decode(const assay_call* call, assay_in q, assay_in k_cache, assay_in v_cache,
                              assay_in req_to_token, assay_in seq_lens, assay_in req_pool_indices, assay_in topk_idx,
                              assay_out out, double sm_scale, std::int64_t block_size) {
  DecodeArgs args{};
  args.q = q->data;
  args.k = k_cache->data;
  args.v = v_cache->data;
  args.table = static_cast<const std::int32_t*>(req_to_token->data);
  args.lengths = static_cast<const std::int32_t*>(seq_lens->data);
  args.rows = static_cast<const std::int32_t*>(req_pool_indices->data);
  args.selected = static_cast<const std::int32_t*>(topk_idx->data);
  args.out = out->data;
  args.out_row = out->strides[0];
  args.out_head = out->strides[1];
  args.partial = static_cast<float*>(call->workspace);
  args.batch = q->shape[0];
  args.q_heads = q->shape[1];
  args.dim = static_cast<int>(q->shape[2]);
  args.kv_heads = k_cache->shape[1];
  args.capacity = req_to_token->shape[1];
  args.width = topk_idx->shape[2];
  args.block_size = block_size;
  args.scale = static_cast<float>(sm_scale);
  if (args.batch == 0 || args.q_heads == 0 || args.dim == 0) return ASSAY_OK;
  if (q->shape[2] > kMaxHeadDim) return fail(call, ASSAY_UNSUPPORTED, "attention_decode: head_dim is over 512");
  args.group = args.q_heads / args.kv_heads;
  // Whole tiles a split; one split at least, which then says that there is nothing.
  const std::int64_t places = args.width * block_size;
  args.places_of_split = ceil_div(places, kMaxSplits);
  if (args.places_of_split < kPlacesOfSplit) args.places_of_split = kPlacesOfSplit;
  args.places_of_split = ceil_div(args.places_of_split, kTileKeys) * kTileKeys;
  args.splits = places == 0 ? 1 : ceil_div(places, args.places_of_split);
  if (call->workspace_bytes < partial_bytes(args.batch, args.q_heads, args.splits, args.dim))
    return fail(call, ASSAY_ERROR, "attention_decode: the workspace is smaller than asked for");
  if (is(q->dtype, kDLFloat, 32)) return run<F32>(call, args);
  if (is(q->dtype, kDLFloat, 16)) return run<F16>(call, args);
  if (is(q->dtype, kDLBfloat, 16)) return run<BF16>(call, args);
  return fail(call, ASSAY_UNSUPPORTED, "attention_decode: the dtype is not fp32, fp16 or bf16");
}

assay_status attention_decode_workspace(const assay_call*, const DLTensor* const* tensors, std::uint32_t,
                                        std::size_t* bytes) {
  const DLTensor& q = *tensors[0];
  *bytes = partial_bytes(q.shape[0], q.shape[1], kMaxSplits, q.shape[2]);
  return ASSAY_OK;
}

int preload_attention_decode() {
  if (const cudaError_t error = preload_all<F32>(); error != cudaSuccess) return error;
  if (const cudaError_t error = preload_all<F16>(); error != cudaSuccess) return error;
  return preload_all<BF16>();
}

}  // namespace assay_cuda
