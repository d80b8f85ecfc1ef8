// moe.cuh: moe.fused_experts in a naive, right form for faults to break: a fault is a struct that hides members of
// faulty::Moe, and FAULTY_MOE makes a library of it.
//
// Promises: right for fp32, fp16 and bf16, dense and NVFP4, SiLU and swigluoai, up to kMaxExperts experts; nothing
// depends on the order in which threads run. One block computes one pair (a place of a token's list) and leaves an fp32
// row in scratch; the last kernel adds a token's rows. Contains no fault.
// Who uses it: the cuda_moe_*.cu files beside it.
//
//   struct Unweighted : faulty::Moe {
//     static __device__ float scale_of(const faulty::MoeArgs&, int) { return 1.0f; }
//   };
//   FAULTY_MOE(Unweighted, nullptr)
#pragma once

#include <cstring>
#include <new>

#include "faulty.cuh"

namespace faulty {

constexpr int kMaxExperts = 1024;
constexpr int kHeld = 256;  // values of the intermediate that a block holds at once

// One weight matrix: rows x columns values an expert.
struct MoeMatrix {
  Rows dense;
  const std::uint8_t *packed, *scales;
  const float *alphas, *inverse;
  std::int64_t rows, columns;
};

struct MoeLayer {
  bool nvfp4, swigluoai;
  std::int64_t experts, hidden, inter;
  MoeMatrix w13, w2;
  void* own;  // what a fault keeps beside it
};

struct MoeArgs {
  MoeLayer layer;
  Rows x, out;
  const std::int32_t* ids;
  const float* scales;
  int top_k, pairs;
  // Scratch: pairs sorted by expert, -1 where there is none; each expert's first position and count; a row a pair.
  int *order, *begins, *counts;
  float* partial;
};

// What a fault may hide. Kernels find a member through F, the fault's own struct.
struct Moe {
  static constexpr std::uint32_t kFlags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;

  // Pairs that an expert has in earlier steps of the sort.
  static __device__ int carried(int earlier) { return earlier; }
  static __device__ int token_of(const MoeArgs& a, int pair) { return pair / a.top_k; }
  // The expert whose weights the pair at a position meets.
  static __device__ int expert_of(const MoeArgs& a, int position) { return a.ids[a.order[position]]; }
  static __device__ bool skips(const MoeArgs&, int) { return false; }
  static __device__ float scale_of(const MoeArgs& a, int pair) { return a.scales[pair]; }
  static __device__ std::int64_t scales_start(const MoeMatrix& m, int expert) {
    return expert * ((m.rows + 127) / 128 * 128) * ((m.columns / 16 + 3) / 4 * 4);
  }
  static __device__ float outer(const MoeMatrix& m, int expert) { return m.alphas[expert] * m.inverse[expert]; }
  static __device__ std::int64_t gate_row(const MoeLayer&, std::int64_t row) { return row; }
  static __device__ std::int64_t up_row(const MoeLayer& layer, std::int64_t row) { return layer.inter + row; }
  static __device__ void store(const MoeArgs& a, std::int64_t token, std::int64_t column, float sum) {
    a.out.set(token, column, sum);
  }

  template <class F>
  static cudaError_t prepare(const assay_call*, const assay_moe_weights*, MoeLayer*) {
    return cudaSuccess;
  }
  static void release(MoeLayer*) {}
  static MoeLayer layer_of(const void* prepared) { return *static_cast<const MoeLayer*>(prepared); }
  template <class F>
  static assay_status run(const assay_call* call, MoeArgs a);
};

__device__ inline float e2m1(unsigned nibble) {
  const float grid[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  return (nibble & 8u) != 0u ? -grid[nibble & 7u] : grid[nibble & 7u];
}
__device__ inline float e4m3(unsigned byte) {
  const int exponent = static_cast<int>(byte >> 3 & 15u), fraction = static_cast<int>(byte & 7u);
  return exponent == 0 ? ldexpf(static_cast<float>(fraction), -9)
                       : ldexpf(static_cast<float>(8 + fraction), exponent - 10);
}

// A weight without its expert's outer scale.
template <class F>
__device__ float weight(const MoeLayer& layer, const MoeMatrix& m, int expert, std::int64_t row, std::int64_t column) {
  const std::int64_t cell = (expert * m.rows + row) * m.columns + column;
  if (!layer.nvfp4) return m.dense.get(cell);
  const std::int64_t group = column / 16, groups = (m.columns / 16 + 3) / 4;
  const std::int64_t place = (row / 128 * groups + group / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + group % 4;
  return e2m1(m.packed[cell / 2] >> (column % 2 * 4) & 15u) * e4m3(m.scales[F::scales_start(m, expert) + place]);
}
template <class F>
__device__ float outer(const MoeLayer& layer, const MoeMatrix& m, int expert) {
  return layer.nvfp4 ? F::outer(m, expert) : 1.0f;
}

__device__ inline float activate(const MoeLayer& layer, float gate, float up) {
  if (!layer.swigluoai) return silu(gate) * up;
  const float g = fminf(gate, 7.0f), u = fminf(fmaxf(up, -7.0f), 7.0f), e = expf(-fabsf(1.702f * g));
  return (g < 0.0f ? g * e : g) / (1.0f + e) * (u + 1.0f);
}

__global__ void moe_clear_kernel(MoeArgs a) {
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < a.pairs; i += gridDim.x * kThreads) a.order[i] = -1;
}

// One block an expert, its pairs in their own order, kThreads pairs a step.
template <class F>
__global__ void moe_route_kernel(MoeArgs a) {
  __shared__ int seen[kThreads];
  const int expert = blockIdx.x;
  int begin = 0, done = 0;
  for (int base = 0; base < a.pairs; base += kThreads) {
    const int pair = base + threadIdx.x, id = pair < a.pairs ? a.ids[pair] : a.layer.experts;
    begin += __syncthreads_count(id < expert);
  }
  for (int base = 0; base < a.pairs; base += kThreads) {
    const int pair = base + threadIdx.x;
    const bool mine = pair < a.pairs && a.ids[pair] == expert;
    seen[threadIdx.x] = mine ? 1 : 0;
    __syncthreads();
    int rank = 0;
    for (int i = 0; i < static_cast<int>(threadIdx.x); ++i) rank += seen[i];
    if (mine) a.order[begin + F::carried(done) + rank] = pair;
    done += __syncthreads_count(mine);
  }
  if (threadIdx.x == 0) {
    a.begins[expert] = begin;
    a.counts[expert] = done;
  }
}

// The pair at one position, by one block.
template <class F>
__device__ void moe_row(const MoeArgs& a, int position, int expert) {
  __shared__ float held[kHeld];
  const MoeLayer& layer = a.layer;
  const int pair = a.order[position];
  const std::int64_t token = F::token_of(a, pair);
  float* const row = a.partial + pair * layer.hidden;
  const float outer13 = outer<F>(layer, layer.w13, expert), outer2 = outer<F>(layer, layer.w2, expert);
  for (std::int64_t first = 0; first < layer.inter; first += kHeld) {
    const int width = static_cast<int>(layer.inter - first < kHeld ? layer.inter - first : kHeld);
    for (int i = threadIdx.x; i < width; i += kThreads) {
      float gate = 0.0f, up = 0.0f;
      for (std::int64_t c = 0; c < layer.hidden; ++c) {
        const float x = a.x.cell(token, c);
        gate = fmaf(x, weight<F>(layer, layer.w13, expert, F::gate_row(layer, first + i), c), gate);
        up = fmaf(x, weight<F>(layer, layer.w13, expert, F::up_row(layer, first + i), c), up);
      }
      held[i] = activate(layer, gate * outer13, up * outer13);
    }
    __syncthreads();
    for (std::int64_t c = threadIdx.x; c < layer.hidden; c += kThreads) {
      float sum = 0.0f;
      for (int i = 0; i < width; ++i) sum = fmaf(held[i], weight<F>(layer, layer.w2, expert, c, first + i), sum);
      row[c] = first == 0 ? sum * outer2 : row[c] + sum * outer2;
    }
    __syncthreads();
  }
}

// One block a position.
template <class F>
__global__ void moe_rows_kernel(MoeArgs a) {
  const int position = blockIdx.x;
  if (a.order[position] >= 0 && !F::skips(a, a.order[position])) moe_row<F>(a, position, F::expert_of(a, position));
}

template <class F>
__global__ void moe_combine_kernel(MoeArgs a) {
  const std::int64_t token = blockIdx.x;
  for (std::int64_t c = threadIdx.x; c < a.layer.hidden; c += kThreads) {
    float sum = 0.0f;
    for (int place = 0; place < a.top_k; ++place) {
      const int pair = static_cast<int>(token) * a.top_k + place;
      sum = fmaf(F::scale_of(a, pair), a.partial[pair * a.layer.hidden + c], sum);
    }
    F::store(a, token, c, sum);
  }
}

template <class F>
void moe_route(const assay_call* call, const MoeArgs& a) {
  moe_clear_kernel<<<(a.pairs + kThreads - 1) / kThreads, kThreads, 0, call->cuda_stream>>>(a);
  moe_route_kernel<F><<<static_cast<unsigned>(a.layer.experts), kThreads, 0, call->cuda_stream>>>(a);
}
template <class F>
assay_status moe_combine(const assay_call* call, const MoeArgs& a) {
  moe_combine_kernel<F><<<static_cast<unsigned>(a.out.rows), kThreads, 0, call->cuda_stream>>>(a);
  return launched(call);
}

template <class F>
assay_status Moe::run(const assay_call* call, MoeArgs a) {
  moe_route<F>(call, a);
  moe_rows_kernel<F><<<a.pairs, kThreads, 0, call->cuda_stream>>>(a);
  return moe_combine<F>(call, a);
}

// Scratch of a call: order, begins, counts, then the rows.
inline std::size_t moe_integers(std::int64_t pairs) { return sizeof(int) * (pairs + 2 * kMaxExperts); }
inline assay_status moe_workspace(const assay_call*, const DLTensor* const* tensors, std::uint32_t,
                                  std::size_t* bytes) {
  const std::int64_t pairs = tensors[1]->shape[0] * tensors[1]->shape[1];
  *bytes = moe_integers(pairs) + sizeof(float) * pairs * tensors[0]->shape[1];
  return ASSAY_OK;
}

template <class F>
assay_status moe_entry(const assay_call* call, assay_in x, assay_in ids, assay_in scales, const void* prepared,
                       assay_out out) {
  MoeArgs a{};
  a.layer = F::layer_of(prepared);
  a.x = rows_of(*x);
  a.out = rows_of(*out);
  a.ids = static_cast<const std::int32_t*>(ids->data);
  a.scales = static_cast<const float*>(scales->data);
  a.top_k = static_cast<int>(ids->shape[1]);
  a.pairs = static_cast<int>(ids->shape[0]) * a.top_k;
  if (a.pairs == 0 || a.out.columns == 0) return ASSAY_OK;
  a.order = static_cast<int*>(call->workspace);
  a.begins = a.order + a.pairs;
  a.counts = a.begins + kMaxExperts;
  a.partial = reinterpret_cast<float*>(a.counts + kMaxExperts);
  return F::template run<F>(call, a);
}

inline MoeMatrix moe_matrix(assay_in values, assay_in scales, assay_in alphas, assay_in inverse, std::int64_t rows,
                            std::int64_t columns) {
  MoeMatrix m{};
  m.dense = rows_of(*values);
  m.packed = static_cast<const std::uint8_t*>(values->data);
  m.rows = rows;
  m.columns = columns;
  if (scales == nullptr) return m;
  m.scales = static_cast<const std::uint8_t*>(scales->data);
  m.alphas = static_cast<const float*>(alphas->data);
  m.inverse = static_cast<const float*>(inverse->data);
  return m;
}

template <class F>
assay_status moe_prepare(const assay_call* call, const assay_moe_weights* w, void** prepared) {
  *prepared = nullptr;
  MoeLayer layer{};
  layer.nvfp4 = std::strcmp(w->form, "nvfp4_layer") == 0;
  layer.swigluoai = std::strcmp(w->activation, "swigluoai") == 0;
  layer.experts = w->num_experts;
  layer.hidden = w->hidden_size;
  layer.inter = w->intermediate;
  layer.w13 = moe_matrix(w->w13, w->w13_scale, w->g1_alphas, w->a1_inv, 2 * layer.inter, layer.hidden);
  layer.w2 = moe_matrix(w->w2, w->w2_scale, w->g2_alphas, w->a2_inv, layer.hidden, layer.inter);
  if (layer.experts > kMaxExperts) return ASSAY_UNSUPPORTED;
  if (const cudaError_t error = F::template prepare<F>(call, w, &layer); error != cudaSuccess)
    return check(call, error);
  MoeLayer* const kept = new (std::nothrow) MoeLayer(layer);
  *prepared = kept;
  return kept != nullptr ? ASSAY_OK : ASSAY_ERROR;
}

template <class F>
assay_status moe_release(const assay_call*, void* prepared) {
  MoeLayer* const layer = static_cast<MoeLayer*>(prepared);
  F::release(layer);
  delete layer;
  return ASSAY_OK;
}

template <class F, class... Kernels>
assay_status moe_init(const assay_call* call, void** state, Kernels... kernels) {
  return preload(call, state, moe_clear_kernel, moe_route_kernel<F>, moe_rows_kernel<F>, moe_combine_kernel<F>,
                 kernels...);
}

template <class F>
assay_variant moe_variant(const char* capabilities, decltype(assay_variant::init) init) {
  assay_entry entry{};
  entry.fused_experts = moe_entry<F>;
  assay_variant v = variant_of("moe.fused_experts", F::kFlags, entry, init);
  v.capabilities = capabilities;
  v.workspace = moe_workspace;
  v.prepare = moe_prepare<F>;
  v.release = moe_release<F>;
  return v;
}

}  // namespace faulty

// The exported table: capabilities (NULL: dense weights with SiLU) and the kernels that the fault launches itself.
#define FAULTY_MOE_WITH(Fault, capabilities, ...)                  \
  static assay_status init(const assay_call* call, void** state) { \
    return faulty::moe_init<Fault>(call, state, __VA_ARGS__);      \
  }                                                                \
  FAULTY_MOE_TABLE(Fault, capabilities, init)
#define FAULTY_MOE(Fault, capabilities)                                                                           \
  static assay_status init(const assay_call* call, void** state) { return faulty::moe_init<Fault>(call, state); } \
  FAULTY_MOE_TABLE(Fault, capabilities, init)
#define FAULTY_MOE_TABLE(Fault, capabilities, init)                                                         \
  const assay_library* assay_get_library(uint32_t harness_abi_version) {                                    \
    static const assay_variant variant = faulty::moe_variant<Fault>(capabilities, init);                    \
    static const assay_variant* const variants[] = {&variant};                                              \
    static const assay_library library = {sizeof library, ASSAY_ABI_VERSION, "faulty", "1.0", variants, 1}; \
    return harness_abi_version == ASSAY_ABI_VERSION ? &library : nullptr;                                   \
  }
#define FAULTY_NVFP4 R"({"model": "MiniMax-M3", "quant": "nvfp4", "dtype": ["bfloat16", "float16"]})"
