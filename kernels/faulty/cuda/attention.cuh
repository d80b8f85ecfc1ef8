// attention.cuh: the right parts of wrong attention kernels. Each fault takes what it does not break from here.
//
// Promises: naive and right for fp32, fp16 and bf16, heads of up to 512 columns, rows without keys; one block of
// kThreads threads a row. Decode works in kSplits splits of the selection's places and a merge. Contains no fault.
// Who uses it: the sdpa and decode files beside it, one fault a file, each a library of its own.
//
//   struct TopLeft : faulty::RightSdpa {
//     static __device__ std::int64_t end(const faulty::Sdpa& a, std::int64_t t) { return t + 1; }
//   };
//   static assay_status entry(const assay_call* call, FAULTY_SDPA_ARGUMENTS) {
//     return faulty::run_sdpa<TopLeft>(call, faulty::sdpa_args(q, k, v, out, sm_scale, causal));
//   }
//   FAULTY_SDPA(entry, faulty::sdpa_kernel<TopLeft>)
#pragma once

#include <cmath>

#include "faulty.cuh"

namespace faulty {

constexpr int kMaxHeadDim = 512;
constexpr int kColumns = kMaxHeadDim / kThreads;  // of a row, in one thread

__device__ inline float block_max(float value) {
  __shared__ float partial[kThreads];
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half)
      partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + half]);
    __syncthreads();
  }
  const float top = partial[0];
  __syncthreads();
  return top;
}

// The softmax of one row so far. top and below are the same in all threads; thread i holds columns i, i + kThreads.
struct Softmax {
  float top = -INFINITY, below = 0.0f, sum[kColumns] = {};
};

// Attends places [begin, end); at(i) is where place i's key and value start in k and v, negative where there is none.
template <class At>
__device__ Softmax attend(const Rows& q, std::int64_t query, const Rows& k, const Rows& v, std::int64_t dim,
                          float scale, std::int64_t begin, std::int64_t end, At at) {
  __shared__ float weight[kThreads];
  __shared__ std::int64_t start[kThreads];
  Softmax s;
  for (std::int64_t base = begin; base < end; base += kThreads) {
    const std::int64_t place = base + threadIdx.x, from = place < end ? at(place) : -1;
    float logit = from < 0 ? -INFINITY : 0.0f;
    if (from >= 0) {
      for (std::int64_t c = 0; c < dim; ++c) logit = fmaf(q.get(query + c), k.get(from + c), logit);
      logit *= scale;
    }
    const float top = fmaxf(s.top, block_max(logit));
    const float keep = s.top > -INFINITY ? expf(s.top - top) : 0.0f;
    weight[threadIdx.x] = logit > -INFINITY ? expf(logit - top) : 0.0f;
    start[threadIdx.x] = from;
    s.top = top;
    s.below = s.below * keep + block_sum(weight[threadIdx.x]);
    for (int i = 0; i < kColumns; ++i) {
      const std::int64_t c = threadIdx.x + i * kThreads;
      s.sum[i] *= keep;
      for (int j = 0; c < dim && j < kThreads; ++j) {
        if (start[j] >= 0) s.sum[i] = fmaf(weight[j], v.get(start[j] + c), s.sum[i]);
      }
    }
    __syncthreads();
  }
  return s;
}

__device__ inline void store(const Rows& out, std::int64_t row, const Softmax& s) {
  for (int i = 0; i < kColumns; ++i) {
    const std::int64_t c = threadIdx.x + i * kThreads;
    if (c < out.columns) out.set(row, c, s.below > 0.0f ? s.sum[i] / s.below : 0.0f);
  }
}

struct Sdpa {
  Rows q, k, v, out;
  std::int64_t queries, keys, q_heads, kv_heads, dim;
  float scale;
  bool causal;
};
inline Sdpa sdpa_args(assay_in q, assay_in k, assay_in v, assay_out out, double sm_scale, std::int32_t causal) {
  return {rows_of(*q), rows_of(*k), rows_of(*v), rows_of(*out), q->shape[0],
          k->shape[0], q->shape[1], k->shape[1], q->shape[2],   static_cast<float>(sm_scale),
          causal != 0};
}

// What a fault of sdpa may replace: the head that a block serves, and the first key that a query does not see.
struct RightSdpa {
  static __device__ std::int64_t head(const Sdpa&, std::int64_t block) { return block; }
  static __device__ std::int64_t end(const Sdpa& a, std::int64_t t) { return t + a.keys - a.queries + 1; }
};

template <class Form>
__global__ void sdpa_kernel(Sdpa a) {
  for (std::int64_t row = blockIdx.x; row < a.queries * a.q_heads; row += gridDim.x) {
    const std::int64_t t = row / a.q_heads, h = Form::head(a, row % a.q_heads);
    if (h >= a.q_heads) continue;
    const std::int64_t last = a.causal ? Form::end(a, t) : a.keys, kv_head = h / (a.q_heads / a.kv_heads);
    const Softmax s =
        attend(a.q, (t * a.q_heads + h) * a.dim, a.k, a.v, a.dim, a.scale, 0, last < a.keys ? last : a.keys,
               [&](std::int64_t key) { return (key * a.kv_heads + kv_head) * a.dim; });
    store(a.out, t * a.q_heads + h, s);
  }
}

template <class Form>
assay_status run_sdpa(const assay_call* call, const Sdpa& a) {
  if (a.out.rows > 0 && a.dim > 0) sdpa_kernel<Form><<<blocks(a.out), kThreads, 0, call->cuda_stream>>>(a);
  return launched(call);
}

struct Decode {
  Rows q, k, v, out;
  const std::int32_t *table, *lengths, *pool_rows, *selected;
  float* partial;  // per row and split: maximum, denominator, dim sums
  std::int64_t batch, q_heads, kv_heads, dim, capacity, width, block_size;
  float scale;

  __device__ float* partial_of(std::int64_t row, std::int64_t split) const;
};

constexpr std::int64_t kSplits = 4;

__device__ inline float* Decode::partial_of(std::int64_t row, std::int64_t split) const {
  return partial + (row * kSplits + split) * (dim + 2);
}
inline std::size_t partial_floats(std::int64_t rows, std::int64_t dim) {
  return static_cast<std::size_t>(rows * kSplits * (dim + 2));
}
inline assay_status decode_workspace(const assay_call*, const DLTensor* const* tensors, std::uint32_t,
                                     std::size_t* bytes) {
  const std::int64_t* q = tensors[0]->shape;
  *bytes = sizeof(float) * partial_floats(q[0] * q[1], q[2]);
  return ASSAY_OK;
}

inline Decode decode_args(const assay_call* call, assay_in q, assay_in k, assay_in v, assay_in table, assay_in lengths,
                          assay_in pool_rows, assay_in selected, assay_out out, double sm_scale,
                          std::int64_t block_size) {
  const auto ints = [](assay_in t) { return static_cast<const std::int32_t*>(t->data); };
  return {rows_of(*q),
          rows_of(*k),
          rows_of(*v),
          rows_of(*out),
          ints(table),
          ints(lengths),
          ints(pool_rows),
          ints(selected),
          static_cast<float*>(call->workspace),
          q->shape[0],
          q->shape[1],
          k->shape[1],
          q->shape[2],
          table->shape[1],
          selected->shape[2],
          block_size,
          static_cast<float>(sm_scale)};
}

// What a fault of decode may replace: the block that an id names (negative: none), how many positions a request has,
// and what is left of a split.
struct RightDecode {
  static __device__ std::int64_t block(std::int64_t id) { return id; }
  static __device__ std::int64_t length(const Decode& a, std::int64_t request) { return a.lengths[request]; }
  static __device__ void leave(const Decode& a, std::int64_t row, std::int64_t split, const Softmax& s) {
    float* to = a.partial_of(row, split);
    if (threadIdx.x == 0) {
      to[0] = s.top;
      to[1] = s.below;
    }
    for (int i = 0; i < kColumns; ++i) {
      const std::int64_t c = threadIdx.x + i * kThreads;
      if (c < a.dim) to[2 + c] = s.sum[i];
    }
  }
};

template <class Form>
__device__ void decode_split(const Decode& a, std::int64_t row, std::int64_t split) {
  const std::int64_t request = row / a.q_heads, h = row % a.q_heads, kv_head = h / (a.q_heads / a.kv_heads);
  const std::int32_t* ids = a.selected + (kv_head * a.batch + request) * a.width;
  const std::int32_t* pages = a.table + a.pool_rows[request] * a.capacity;
  const std::int64_t places = a.width * a.block_size, share = (places + kSplits - 1) / kSplits;
  const std::int64_t begin = split * share, end = begin + share < places ? begin + share : places;
  const std::int64_t length = Form::length(a, request);
  const Softmax s =
      attend(a.q, row * a.dim, a.k, a.v, a.dim, a.scale, begin, end, [&](std::int64_t place) -> std::int64_t {
        const std::int64_t block = Form::block(ids[place / a.block_size]);
        const std::int64_t position = block * a.block_size + place % a.block_size;
        if (block < 0 || position >= length || position >= a.capacity) return -1;
        return (pages[position] * a.kv_heads + kv_head) * a.dim;
      });
  Form::leave(a, row, split, s);
}

template <class Form>
__global__ void split_kernel(Decode a) {
  for (std::int64_t i = blockIdx.x; i < a.batch * a.q_heads * kSplits; i += gridDim.x)
    decode_split<Form>(a, i / kSplits, i % kSplits);
}

__global__ void merge_kernel(Decode a) {
  for (std::int64_t row = blockIdx.x; row < a.batch * a.q_heads; row += gridDim.x) {
    Softmax s;
    for (std::int64_t split = 0; split < kSplits; ++split) s.top = fmaxf(s.top, a.partial_of(row, split)[0]);
    for (std::int64_t split = 0; split < kSplits; ++split) {
      const float* from = a.partial_of(row, split);
      if (from[0] == -INFINITY) continue;
      const float share = expf(from[0] - s.top);
      s.below = fmaf(share, from[1], s.below);
      for (int i = 0; i < kColumns; ++i) {
        const std::int64_t c = threadIdx.x + i * kThreads;
        if (c < a.dim) s.sum[i] = fmaf(share, from[2 + c], s.sum[i]);
      }
    }
    store(a.out, row, s);
  }
}

inline bool empty(const Decode& a) { return a.out.rows == 0 || a.dim == 0; }
inline unsigned split_blocks(const Decode& a) {
  const std::int64_t all = a.batch * a.q_heads * kSplits;
  return static_cast<unsigned>(all < 65535 ? all : 65535);
}

template <class Form>
assay_status run_decode(const assay_call* call, const Decode& a) {
  if (empty(a)) return ASSAY_OK;
  split_kernel<Form><<<split_blocks(a), kThreads, 0, call->cuda_stream>>>(a);
  merge_kernel<<<blocks(a.out), kThreads, 0, call->cuda_stream>>>(a);
  return launched(call);
}

}  // namespace faulty

// The arguments of an entry behind its call, and their names.
#define FAULTY_SDPA_ARGUMENTS assay_in q, assay_in k, assay_in v, assay_out out, double sm_scale, std::int32_t causal
#define FAULTY_DECODE_ARGUMENTS                                                                                \
  assay_in q, assay_in k, assay_in v, assay_in table, assay_in lengths, assay_in pool_rows, assay_in selected, \
      assay_out out, double sm_scale, std::int64_t block_size
#define FAULTY_DECODE_NAMES q, k, v, table, lengths, pool_rows, selected, out, sm_scale, block_size

// As FAULTY_LIBRARY, for a library that asks for scratch with its calls.
#define FAULTY_SCRATCH_LIBRARY(member, slot_name, flags, function, scratch, ...)                                       \
  static assay_status init(const assay_call* call, void** state) { return faulty::preload(call, state, __VA_ARGS__); } \
  static assay_variant described() {                                                                                   \
    assay_variant variant = faulty::variant_of(slot_name, flags, {.member = function}, init);                          \
    variant.workspace = scratch;                                                                                       \
    return variant;                                                                                                    \
  }                                                                                                                    \
  const assay_library* assay_get_library(uint32_t harness_abi_version) {                                               \
    static const assay_variant variant = described();                                                                  \
    static const assay_variant* const variants[] = {&variant};                                                         \
    static const assay_library library = {sizeof library, ASSAY_ABI_VERSION, "faulty", "1.0", variants, 1};            \
    return harness_abi_version == ASSAY_ABI_VERSION ? &library : nullptr;                                              \
  }
#define FAULTY_SDPA(function, ...) \
  FAULTY_LIBRARY(attention, "attention.sdpa", ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC, function, __VA_ARGS__)
#define FAULTY_DECODE(function, ...)                                                                             \
  FAULTY_SCRATCH_LIBRARY(attention_decode, "attention.decode", ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC, function, \
                         faulty::decode_workspace, __VA_ARGS__)
