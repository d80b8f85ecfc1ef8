// attention.msa_block_score: the best key of each block against the sum of a request's index queries; -inf where no key
// is visible.
//
// A block of threads serves some blocks of keys of one request: it sums the heads into shared memory, then small groups
// of lanes take one key each. Keys at or past the length are never read. Sums are fp32 in an order that depends on the
// head's width only; maxima have no order.
#include "attention.cuh"
#include "entries.hpp"

namespace assay_cuda {
namespace {

constexpr std::int64_t kTokens = 128;  // of a block of threads, unless one block of keys is longer
constexpr int kThreads = 128;

struct ScoreArgs {
  const void *q, *keys;
  const std::int32_t* lengths;
  float* out;
  std::int64_t tokens, block_size, blocks, blocks_at_once, heads;
  std::int64_t out_row, out_column;  // strides in cells
  int dim, lanes;                    // lanes that share a key
  bool vectors;
};

// The order of floats as integers, so that a maximum can be taken atomically.
__device__ int ordered(float f) {
  const int bits = __float_as_int(f);
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}
__device__ float from_ordered(int key) { return __int_as_float(key < 0 ? key ^ 0x7fffffff : key); }

// <sum of the queries, key>, by the lanes that share the key; each gets it.
template <class T>
__device__ float dot(const ScoreArgs& a, const float* query, const typename T::Cell* key) {
  const int lane = threadIdx.x % a.lanes;
  float sum = 0.0f;
  if (key != nullptr && a.vectors) {
    constexpr int kCells = kGroup<T>;
#pragma unroll 4
    for (int c = lane * kCells; c < a.dim; c += a.lanes * kCells) {
      typename T::Cell cells[kCells];
      load_group<T>(key + c, cells);
#pragma unroll
      for (int i = 0; i < kCells; ++i) sum = fmaf(query[c + i], T::widen(cells[i]), sum);
    }
  } else if (key != nullptr) {
#pragma unroll 4
    for (int c = lane; c < a.dim; c += a.lanes) sum = fmaf(query[c], T::widen(key[c]), sum);
  }
  for (int other = a.lanes / 2; other > 0; other /= 2) sum += __shfl_xor_sync(kAllLanes, sum, other);
  return sum;
}

template <class T>
__global__ void __launch_bounds__(kThreads) block_score_kernel(const __grid_constant__ ScoreArgs args) {
  using Cell = typename T::Cell;
  extern __shared__ uint4 shared[];
  float* query = reinterpret_cast<float*>(shared);
  __shared__ int best[kTokens];
  const std::int64_t parts = ceil_div(args.blocks, args.blocks_at_once);
  const std::int64_t request = blockIdx.x / parts, first_block = blockIdx.x % parts * args.blocks_at_once;
  const std::int64_t left = args.blocks - first_block;
  const int blocks = static_cast<int>(left < args.blocks_at_once ? left : args.blocks_at_once);
  const Cell* q = static_cast<const Cell*>(args.q) + request * args.heads * args.dim;
  for (int c = threadIdx.x; c < args.dim; c += kThreads) {
    float sum = 0.0f;
    for (std::int64_t h = 0; h < args.heads; ++h) sum += T::widen(q[h * args.dim + c]);
    query[c] = sum;
  }
  for (int i = threadIdx.x; i < blocks; i += kThreads) best[i] = ordered(-INFINITY);
  __syncthreads();

  const Cell* keys = static_cast<const Cell*>(args.keys) + request * args.tokens * args.dim;
  const std::int64_t first = first_block * args.block_size, length = args.lengths[request];
  std::int64_t end = first + blocks * args.block_size;
  if (end > length) end = length;
  if (end > args.tokens) end = args.tokens;
  const int at_once = kThreads / args.lanes, mine = threadIdx.x / args.lanes;
#pragma unroll 2
  for (std::int64_t base = first; base < end; base += at_once) {
    // All lanes of a warp stay in the loop: the dot product exchanges values.
    const std::int64_t token = base + mine;
    const bool visible = token < end;
    const float score = dot<T>(args, query, visible ? keys + token * args.dim : nullptr);
    if (visible && threadIdx.x % args.lanes == 0) atomicMax(&best[(token - first) / args.block_size], ordered(score));
  }
  __syncthreads();
  for (int i = threadIdx.x; i < blocks; i += kThreads)
    args.out[request * args.out_row + (first_block + i) * args.out_column] = from_ordered(best[i]);
}

template <class T>
assay_status run(const assay_call* call, ScoreArgs args, std::int64_t batch) {
  args.vectors = vector_rows<T>(args.keys, args.dim);
  args.lanes = 1;
  while (args.lanes < kWarp && args.lanes * (args.vectors ? kGroup<T> : 1) < args.dim) args.lanes *= 2;
  return launch_shared(call, block_score_kernel<T>, batch * ceil_div(args.blocks, args.blocks_at_once), kThreads,
                       sizeof(float) * args.dim, args);
}

}  // namespace

assay_status msa_block_score(const assay_call* call, assay_in q, assay_in index_k, assay_in seq_lens,
                             std::int64_t block_size, assay_out out) {
  ScoreArgs args{};
  args.q = q->data;
  args.keys = index_k->data;
  args.lengths = static_cast<const std::int32_t*>(seq_lens->data);
  args.out = static_cast<float*>(out->data);
  args.tokens = index_k->shape[1];
  args.block_size = block_size;
  args.blocks = out->shape[1];
  args.heads = q->shape[1];
  args.out_row = out->strides[0];
  args.out_column = out->strides[1];
  args.dim = static_cast<int>(q->shape[2]);
  if (q->shape[0] == 0 || args.blocks == 0) return ASSAY_OK;
  if (q->shape[2] > kMaxHeadDim) return fail(call, ASSAY_UNSUPPORTED, "msa_block_score: head_dim is over 512");
  args.blocks_at_once = block_size < kTokens ? kTokens / block_size : 1;
  if (is(q->dtype, kDLFloat, 32)) return run<F32>(call, args, q->shape[0]);
  if (is(q->dtype, kDLFloat, 16)) return run<F16>(call, args, q->shape[0]);
  if (is(q->dtype, kDLBfloat, 16)) return run<BF16>(call, args, q->shape[0]);
  return fail(call, ASSAY_UNSUPPORTED, "msa_block_score: the dtype is not fp32, fp16 or bf16");
}

int preload_msa_block_score() {
  if (const cudaError_t error = preload(block_score_kernel<F32>); error != cudaSuccess) return error;
  if (const cudaError_t error = preload(block_score_kernel<F16>); error != cudaSuccess) return error;
  return preload(block_score_kernel<BF16>);
}

}  // namespace assay_cuda
