// attention.msa_prefill_block_score: for each block of queries and each head, the key blocks that its first query likes
// best, among those that it may see, through a page table.
//
// Rows are (query block, head) pairs, heads innermost. One kernel leaves the scores of up to 16 rows against some key
// blocks in the workspace: the rows share the keys, and a key that no row of them may see is never read. A second
// kernel selects by radix, exactly, equal scores by the lower index. Rows go in waves if the workspace holds fewer.
// `scale` is positive and changes no selection; it is left out, since it could make unequal scores equal.
#include "attention.cuh"
#include "entries.hpp"

namespace assay_cuda {
namespace {

constexpr int kRowsOfWarp = 4;
constexpr int kRows = kRowsOfWarp * kTileWarps;
constexpr std::int64_t kKeys = 128;        // of a block of threads, unless one block of keys is longer
constexpr std::int64_t kScores = 1 << 24;  // in the workspace, or one row's if that is more
constexpr int kSelectThreads = 256, kBins = 256;

struct PrefillArgs {
  const void *q, *cache;
  const std::int32_t *table, *slots, *queries_before, *prefixes, *blocks_before;
  std::int32_t* out;
  unsigned* scores;  // rows of this wave by width, in the order of the scores
  std::int64_t batch, heads, query_blocks, capacity, block_size_q, block_size_k, width;
  std::int64_t first_row, rows;  // of this wave
  std::int64_t blocks_at_once, topk, init_blocks, local_blocks;
  std::int64_t out_head, out_row, out_column;  // strides in cells
  int dim;
  bool vectors;
};

// The last request that begins at or before this query block: requests without queries own none.
__device__ std::int64_t request_of(const PrefillArgs& a, std::int64_t query_block) {
  std::int64_t low = 0, high = a.batch;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (a.blocks_before[middle] <= query_block) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// The first query of a query block: its row in q, and its position, the last one that it sees.
struct Anchor {
  std::int64_t row, position;
  __device__ Anchor(const PrefillArgs& a, std::int64_t request, std::int64_t query_block) {
    const std::int64_t skipped = (query_block - a.blocks_before[request]) * a.block_size_q;
    row = a.queries_before[request] + skipped;
    position = a.prefixes[request] + skipped;
    if (position >= a.capacity) position = a.capacity - 1;
  }
};

// Scores as integers of the same order; zeros of both signs are equal.
__device__ unsigned ordered(float f) {
  const unsigned bits = __float_as_uint(f == 0.0f ? 0.0f : f);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// Rows [begin, end) of the block's tile, all of one request, against its key blocks.
template <class T>
__device__ void score_rows(const PrefillArgs& a, const Tile& tile, unsigned* best, std::int64_t tile_row, int begin,
                           int end, std::int64_t request, std::int64_t first_block) {
  using Cell = typename T::Cell;
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const int first_row = warp * kRowsOfWarp;
  std::int64_t position[kRowsOfWarp];
  int live = 0;  // rows up to the last one of this warp that is in the range
#pragma unroll
  for (int r = 0; r < kRowsOfWarp; ++r) {
    position[r] = -1;
    const Cell* query = nullptr;
    if (first_row + r >= begin && first_row + r < end) {
      const std::int64_t row = a.first_row + tile_row + first_row + r;
      const Anchor anchor(a, request, row / a.heads);
      position[r] = anchor.position;
      query = static_cast<const Cell*>(a.q) + (anchor.row * a.heads + row % a.heads) * a.dim;
      live = r + 1;
    }
    copy_row<T>(query, a.dim, tile.columns, a.vectors, lane, kWarp, tile.queries + (first_row + r) * tile.columns);
  }
  // Positions grow with the rows of a request.
  const Anchor last(a, request, (a.first_row + tile_row + end - 1) / a.heads);
  const std::int64_t first = first_block * a.block_size_k;
  std::int64_t stop = first + a.blocks_at_once * a.block_size_k;
  if (stop > last.position + 1) stop = last.position + 1;
  for (int i = threadIdx.x; i < kRows * a.blocks_at_once; i += kTileThreads) best[i] = 0;
  const std::int32_t* pages = a.table + a.slots[request] * a.capacity;
  for (std::int64_t base = first; base < stop; base += kTileKeys) {
    const std::int64_t key = base + lane;
    const std::int64_t offset = key < stop ? static_cast<std::int64_t>(pages[key]) * a.dim : -1;
    __syncthreads();
    load_keys<T>(tile, static_cast<const Cell*>(a.cache), offset, a.dim, a.vectors);
    __syncthreads();
    float s[kRowsOfWarp];
    dots<kRowsOfWarp>(tile, first_row, live, s);
    const int block = static_cast<int>((key - first) / a.block_size_k);
    const bool one_block = (base - first) / a.block_size_k == (base + kTileKeys - 1 - first) / a.block_size_k;
#pragma unroll
    for (int r = 0; r < kRowsOfWarp; ++r) {
      if (r >= live) break;
      const bool visible = key < stop && key <= position[r];
      unsigned score = visible ? ordered(s[r]) : 0u;
      unsigned* place = best + (first_row + r) * a.blocks_at_once + block;
      if (one_block) {
        score = __reduce_max_sync(kAllLanes, score);
        if (lane == 0 && score != 0) atomicMax(place, score);
      } else if (visible) {
        atomicMax(place, score);
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kRows * a.blocks_at_once; i += kTileThreads) {
    const int row = static_cast<int>(i / a.blocks_at_once);
    const std::int64_t block = first_block + i % a.blocks_at_once;
    if (row >= begin && row < end && block < a.width) a.scores[(tile_row + row) * a.width + block] = best[i];
  }
  __syncthreads();
}

template <class T>
__global__ void __launch_bounds__(kTileThreads) prefill_score_kernel(const __grid_constant__ PrefillArgs args) {
  extern __shared__ uint4 shared[];
  const Tile tile(reinterpret_cast<float*>(shared), kRows, args.dim);
  unsigned* best = reinterpret_cast<unsigned*>(tile.probabilities);  // kRows by blocks_at_once
  const std::int64_t parts = ceil_div(args.width, args.blocks_at_once);
  const std::int64_t tile_row = blockIdx.x / parts * kRows;
  const std::int64_t first_block = blockIdx.x % parts * args.blocks_at_once;
  const std::int64_t left = args.rows - tile_row;
  const int rows = static_cast<int>(left < kRows ? left : kRows);
  for (int begin = 0; begin < rows;) {
    const std::int64_t request = request_of(args, (args.first_row + tile_row + begin) / args.heads);
    // To the end of the request, or of the tile; a row past all requests has nobody to score for.
    const std::int64_t next = args.blocks_before[request + 1] * args.heads - args.first_row - tile_row;
    if (next <= begin) return;
    const int end = next < rows ? static_cast<int>(next) : rows;
    score_rows<T>(args, tile, best, tile_row, begin, end, request, first_block);
    begin = end;
  }
}

// What a row keeps: all forced blocks, all scores above the threshold, and the first `ties` that equal it.
struct Threshold {
  unsigned score;
  int ties;
};

// The `wanted`-th highest score among blocks [begin, end), 1 <= wanted <= end - begin, by all threads, eight bits at a
// time. A bin's share of the count goes on to the next digit.
__device__ Threshold find_threshold(const unsigned* scores, std::int64_t begin, std::int64_t end, int wanted) {
  __shared__ int bins[kBins];
  __shared__ int digit, rest;
  unsigned prefix = 0, known = 0;
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (int i = threadIdx.x; i < kBins; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (std::int64_t n = begin + threadIdx.x; n < end; n += blockDim.x) {
      if ((scores[n] & known) == prefix) atomicAdd(&bins[scores[n] >> shift & 255u], 1);
    }
    __syncthreads();
    if (threadIdx.x < kWarp) {
      // Lane i holds the i-th highest eight bins.
      constexpr int kBinsOfLane = kBins / kWarp;
      const int lane = threadIdx.x, top = kBins - 1 - lane * kBinsOfLane;
      int mine = 0;
#pragma unroll
      for (int i = 0; i < kBinsOfLane; ++i) mine += bins[top - i];
      int upto = mine;
      for (int step = 1; step < kWarp; step *= 2) {
        const int other = __shfl_up_sync(kAllLanes, upto, step);
        if (lane >= step) upto += other;
      }
      int above = upto - mine;
      if (above < wanted && upto >= wanted) {
        int bin = top;
        while (above + bins[bin] < wanted) above += bins[bin--];
        digit = bin;
        rest = wanted - above;
      }
    }
    __syncthreads();
    prefix |= static_cast<unsigned>(digit) << shift;
    known |= 255u << shift;
    wanted = rest;
    __syncthreads();
  }
  return {prefix, wanted};
}

// One block of threads a row.
__global__ void __launch_bounds__(kSelectThreads) prefill_select_kernel(const __grid_constant__ PrefillArgs args) {
  __shared__ int taken_of_warp[kSelectThreads / kWarp], ties_of_warp[kSelectThreads / kWarp];
  const std::int64_t row = args.first_row + blockIdx.x;
  const std::int64_t query_block = row / args.heads, request = request_of(args, query_block);
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp, warps = blockDim.x / kWarp;
  std::int32_t* out = args.out + row % args.heads * args.out_head + query_block * args.out_row;
  std::int64_t visible = 0;
  if (query_block < args.blocks_before[request + 1])
    visible = Anchor(args, request, query_block).position / args.block_size_k + 1;
  if (visible > args.width) visible = args.width;

  const std::int64_t kept = visible < args.topk ? visible : args.topk;
  // Forced are the blocks before `head` and those from `tail` on; free places go to the rest.
  const std::int64_t head = args.init_blocks < visible ? args.init_blocks : visible;
  std::int64_t tail = args.local_blocks < visible ? visible - args.local_blocks : 0;
  if (tail < head) tail = head;
  const std::int64_t free = kept - head - (visible - tail);
  const unsigned* scores = args.scores + static_cast<std::int64_t>(blockIdx.x) * args.width;
  // With every visible block kept no score is asked for.
  Threshold threshold = {0, 0};
  const bool all = kept == visible;
  if (!all && free > 0) threshold = find_threshold(scores, head, tail, static_cast<int>(free));

  // In order of the index, a stretch of blocks at a time: how many are taken and how many equal the threshold before.
  std::int64_t taken_before = 0, ties_before = 0;
  for (std::int64_t base = 0; base < visible; base += blockDim.x) {
    const std::int64_t n = base + threadIdx.x;
    const bool seen = n < visible, forced = seen && (all || n < head || n >= tail);
    const bool scored = seen && !forced && free > 0;
    const bool tied = scored && scores[n] == threshold.score;
    const unsigned tied_lanes = __ballot_sync(kAllLanes, tied), lower = (1u << lane) - 1;
    if (lane == 0) ties_of_warp[warp] = __popc(tied_lanes);
    __syncthreads();
    std::int64_t ties = ties_before + __popc(tied_lanes & lower);
    for (int w = 0; w < warps; ++w) {
      if (w < warp) ties += ties_of_warp[w];
      ties_before += ties_of_warp[w];
    }
    const bool taken = forced || (scored && scores[n] > threshold.score) || (tied && ties < threshold.ties);
    const unsigned taken_lanes = __ballot_sync(kAllLanes, taken);
    if (lane == 0) taken_of_warp[warp] = __popc(taken_lanes);
    __syncthreads();
    std::int64_t place = taken_before + __popc(taken_lanes & lower);
    for (int w = 0; w < warps; ++w) {
      if (w < warp) place += taken_of_warp[w];
      taken_before += taken_of_warp[w];
    }
    if (taken && place < args.topk) out[place * args.out_column] = static_cast<std::int32_t>(n);
    __syncthreads();
  }
  for (std::int64_t i = kept + threadIdx.x; i < args.topk; i += blockDim.x) out[i * args.out_column] = -1;
}

std::size_t score_shared(const PrefillArgs& args) {
  const Tile tile(nullptr, kRows, args.dim);
  return sizeof(float) *
         (kRows * tile.columns + kTileKeys * tile.pitch + kRows * static_cast<std::size_t>(args.blocks_at_once));
}

template <class T>
assay_status run(const assay_call* call, PrefillArgs args) {
  args.vectors = vector_rows<T>(args.q, args.dim) && vector_rows<T>(args.cache, args.dim);
  const std::int64_t rows = args.query_blocks * args.heads;
  const std::int64_t wave = static_cast<std::int64_t>(call->workspace_bytes / sizeof(unsigned)) / args.width;
  if (wave == 0) return fail(call, ASSAY_ERROR, "msa_prefill_block_score: the workspace is smaller than asked for");
  int threads = kWarp;
  while (threads < kSelectThreads && threads * 4 < args.width) threads *= 2;
  for (args.first_row = 0; args.first_row < rows; args.first_row += args.rows) {
    args.rows = rows - args.first_row < wave ? rows - args.first_row : wave;
    const std::int64_t blocks = ceil_div(args.rows, kRows) * ceil_div(args.width, args.blocks_at_once);
    assay_status status = launch_shared(call, prefill_score_kernel<T>, blocks, kTileThreads, score_shared(args), args);
    if (status == ASSAY_OK) status = launch_shared(call, prefill_select_kernel, args.rows, threads, 0, args);
    if (status != ASSAY_OK) return status;
  }
  return ASSAY_OK;
}

template <class T>
cudaError_t preload_score() {
  PrefillArgs largest{};
  largest.dim = kMaxHeadDim;
  largest.blocks_at_once = kKeys;
  return preload_shared(prefill_score_kernel<T>, score_shared(largest));
}

}  // namespace

assay_status msa_prefill_block_score(const assay_call* call, assay_in q, assay_in index_k_cache, assay_in req_to_token,
                                     assay_in slot_ids, assay_in cu_seqlens, assay_in, assay_in prefix_lens,
                                     std::int64_t, std::int64_t max_seqlen_k, std::int64_t block_size_q,
                                     std::int64_t block_size_k, std::int64_t, std::int64_t init_blocks,
                                     std::int64_t local_blocks, double, assay_in cu_seqblocks_q, std::int64_t,
                                     std::int64_t, assay_out out_topk) {
  PrefillArgs args{};
  args.q = q->data;
  args.cache = index_k_cache->data;
  args.table = static_cast<const std::int32_t*>(req_to_token->data);
  args.slots = static_cast<const std::int32_t*>(slot_ids->data);
  args.queries_before = static_cast<const std::int32_t*>(cu_seqlens->data);
  args.prefixes = static_cast<const std::int32_t*>(prefix_lens->data);
  args.blocks_before = static_cast<const std::int32_t*>(cu_seqblocks_q->data);
  args.out = static_cast<std::int32_t*>(out_topk->data);
  args.scores = static_cast<unsigned*>(call->workspace);
  args.batch = slot_ids->shape[0];
  args.heads = out_topk->shape[0];
  args.query_blocks = out_topk->shape[1];
  args.topk = out_topk->shape[2];
  args.capacity = req_to_token->shape[1];
  args.block_size_q = block_size_q;
  args.block_size_k = block_size_k;
  args.init_blocks = init_blocks;
  args.local_blocks = local_blocks;
  args.out_head = out_topk->strides[0];
  args.out_row = out_topk->strides[1];
  args.out_column = out_topk->strides[2];
  args.dim = static_cast<int>(q->shape[2]);
  if (args.heads == 0 || args.query_blocks == 0 || args.topk == 0 || args.batch == 0) return ASSAY_OK;
  if (q->shape[2] > kMaxHeadDim) return fail(call, ASSAY_UNSUPPORTED, "msa_prefill_block_score: head_dim is over 512");
  args.width = ceil_div(max_seqlen_k < args.capacity ? max_seqlen_k : args.capacity, block_size_k);
  if (args.width == 0) return fail(call, ASSAY_UNSUPPORTED, "msa_prefill_block_score: queries without a key");
  args.blocks_at_once = block_size_k < kKeys ? kKeys / block_size_k : 1;
  if (is(q->dtype, kDLFloat, 32)) return run<F32>(call, args);
  if (is(q->dtype, kDLFloat, 16)) return run<F16>(call, args);
  if (is(q->dtype, kDLBfloat, 16)) return run<BF16>(call, args);
  return fail(call, ASSAY_UNSUPPORTED, "msa_prefill_block_score: the dtype is not fp32, fp16 or bf16");
}

// Scores of the whole call or of one wave. The size of key blocks is no tensor's: as if each held one key.
assay_status msa_prefill_block_score_workspace(const assay_call*, const DLTensor* const* tensors, std::uint32_t count,
                                               std::size_t* bytes) {
  const DLTensor &table = *tensors[2], &out = *tensors[count - 1];
  const std::int64_t row = table.shape[1], all = out.shape[0] * out.shape[1] * row;
  const std::int64_t scores = all < kScores ? all : row < kScores ? kScores : row;
  *bytes = sizeof(unsigned) * static_cast<std::size_t>(scores);
  return ASSAY_OK;
}

int preload_msa_prefill_block_score() {
  if (const cudaError_t error = preload_score<F32>(); error != cudaSuccess) return error;
  if (const cudaError_t error = preload_score<F16>(); error != cudaSuccess) return error;
  if (const cudaError_t error = preload_score<BF16>(); error != cudaSuccess) return error;
  return preload(prefill_select_kernel);
}

}  // namespace assay_cuda
