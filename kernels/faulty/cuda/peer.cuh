// peer.cuh: the three collectives without weights over peer memory, in a naive, right form for faults to break: a fault
// is a struct that hides members of faulty::Peer, and FAULTY_PEER_ALL_REDUCE, _ARNORM or _FINALIZE makes a library of
// it.
//
// Promises: right for fp32, fp16 and bf16, rows of up to 8192 cells, 1 to 8 ranks; one shot, from 48 rows on two. A
// block is a channel: it meets the block of its index on each rank and no others. One wire of fp32 a channel, so a turn
// ends with an exit barrier. Turns are counted in device memory. Contains no fault.
// Who uses it: the cuda_collective_*.cu, cuda_arnorm_*.cu and cuda_finalize_*.cu files beside it.
//
//   struct NoExitBarrier : faulty::Peer {
//     static __device__ void leave(const faulty::PeerChannel&) {}
//   };
//   FAULTY_PEER_ARNORM(NoExitBarrier)
#pragma once

#include <new>

#include "faulty.cuh"

namespace faulty {

constexpr int kPeerWorld = 8;
constexpr int kPeerChannels = 16;
constexpr int kPeerColumns = 8192;
constexpr std::int64_t kPeerTwoShotRows = 48;

// One channel of a rank's symmetric block; zeroed once.
struct PeerMemory {
  unsigned long long arrived[kPeerWorld];  // the last meeting of each rank, written by that rank
  alignas(128) unsigned long long turns;   // the rank's own
  alignas(128) float wires[2][kPeerColumns], sums[kPeerColumns];
};

// What init leaves behind.
struct PeerGroup {
  PeerMemory* blocks[kPeerWorld];
  int rank, world;
};

struct PeerArgs {
  PeerGroup group;
  Rows x, residual, weight, out_norm, out_residual;  // x: gemm_out of finalize; out_residual: out of all_reduce
  bool normalises, two_shot;
  float eps;
  // Of finalize; NULL elsewhere.
  const std::int32_t* map;
  const float* scales;
  std::int64_t map_step, scale_pitch, scale_step, tokens, places;
  unsigned long long own;  // what a fault brings along from the host
};

__device__ inline void store_flag(unsigned long long* flag, unsigned long long value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}
__device__ inline unsigned long long load_flag(const unsigned long long* flag) {
  unsigned long long value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
  return value;
}
// Waits by the clock, so that peers get their time slices where a GPU is shared.
__device__ inline void pause(int milliseconds) {
  const auto now = [] {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
  };
  const unsigned long long end = now() + milliseconds * 1000000ull;
  while (now() < end) __nanosleep(100000);
}

// A block's view of its channel. Members are for all of its threads.
struct PeerChannel {
  const PeerArgs& a;
  int index;
  unsigned long long turn;
  std::int64_t row;

  __device__ PeerMemory& of(int rank) const { return a.group.blocks[rank][index]; }
  __device__ void signal(unsigned long long meeting) const {
    __syncthreads();
    const int peer = static_cast<int>(threadIdx.x);
    if (peer < a.group.world) store_flag(&of(peer).arrived[a.group.rank], meeting);
  }
  __device__ void await(unsigned long long meeting) const {
    const int peer = static_cast<int>(threadIdx.x);
    if (peer < a.group.world) {
      while (load_flag(&of(a.group.rank).arrived[peer]) < meeting) __nanosleep(200);
    }
    __syncthreads();
  }
  __device__ void meet(unsigned long long meeting) const {
    signal(meeting);
    await(meeting);
  }
  // For faults whose race has to be lost: once a call is enough.
  __device__ bool at_first_row() const { return row == index; }
  // A turn's meetings.
  __device__ unsigned long long published() const { return 3 * turn + 1; }
  __device__ unsigned long long shared() const { return 3 * turn + 2; }
  __device__ unsigned long long finished() const { return 3 * turn + 3; }
};

// What a fault may hide. The kernel finds a member through F, the fault's own struct.
struct Peer {
  static constexpr std::uint32_t kFlags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC | ASSAY_SERIAL;

  // On the host, once a call, from facts that are equal on all ranks.
  static void decide(PeerArgs* a) { a->two_shot = a->out_residual.rows >= kPeerTwoShotRows; }

  static __device__ unsigned long long first_turn(const PeerArgs& a) {
    return a.group.blocks[a.group.rank][blockIdx.x].turns;
  }
  static __device__ int wire_of(const PeerChannel&) { return 0; }

  // This rank's part of a cell.
  static __device__ float own_part(const PeerArgs& a, std::int64_t row, std::int64_t column) {
    if (a.map == nullptr) return a.x.cell(row, column);
    float sum = 0.0f;
    for (std::int64_t k = 0; k < a.places; ++k)
      sum = fmaf(a.scales[row * a.scale_pitch + k * a.scale_step],
                 a.x.cell(a.map[(row + k * a.tokens) * a.map_step], column), sum);
    return sum;
  }
  template <class F>
  static __device__ void publish(const PeerChannel& c) {
    float* const wire = c.of(c.a.group.rank).wires[F::wire_of(c)];
    for (std::int64_t i = threadIdx.x; i < c.a.x.columns; i += kThreads) wire[i] = F::own_part(c.a, c.row, i);
  }
  static __device__ void arrive(const PeerChannel& c) { c.meet(c.published()); }
  static __device__ void before_reading(const PeerChannel&) {}
  template <class F>
  static __device__ float part(const PeerChannel& c, int rank, std::int64_t column) {
    return c.of(rank).wires[F::wire_of(c)][column];
  }
  template <class F>
  static __device__ float add_up(const PeerChannel& c, std::int64_t column) {
    float sum = F::template part<F>(c, 0, column);
    for (int rank = 1; rank < c.a.group.world; ++rank) sum += F::template part<F>(c, rank, column);
    return sum;
  }
  static __device__ float with_residual(const PeerArgs& a, float sum, std::int64_t row, std::int64_t column) {
    return sum + a.residual.cell(row, column);
  }
  static __device__ void leave(const PeerChannel& c) { c.meet(c.finished()); }
};

template <class F>
__device__ float peer_total(const PeerChannel& c, std::int64_t column, std::int64_t share) {
  const float sum =
      c.a.two_shot ? c.of(static_cast<int>(column / share)).sums[column] : F::template add_up<F>(c, column);
  return c.a.normalises ? F::with_residual(c.a, sum, c.row, column) : sum;
}

template <class F>
__global__ void __launch_bounds__(kThreads) peer_kernel(const __grid_constant__ PeerArgs a) {
  PeerChannel c{a, static_cast<int>(blockIdx.x), F::first_turn(a), blockIdx.x};
  const std::int64_t columns = a.x.columns, share = (columns + a.group.world - 1) / a.group.world;
  for (; c.row < a.out_residual.rows; c.row += gridDim.x, ++c.turn) {
    F::template publish<F>(c);
    F::arrive(c);
    F::before_reading(c);
    if (a.two_shot) {
      const std::int64_t begin = a.group.rank * share, end = begin + share < columns ? begin + share : columns;
      for (std::int64_t i = begin + threadIdx.x; i < end; i += kThreads)
        c.of(a.group.rank).sums[i] = F::template add_up<F>(c, i);
      c.meet(c.shared());
    }
    float squares = 0.0f;
    for (std::int64_t i = threadIdx.x; i < columns; i += kThreads) {
      const float total = peer_total<F>(c, i, share);
      squares = fmaf(total, total, squares);
      a.out_residual.set(c.row, i, total);
    }
    if (a.normalises) {
      const float scale = scale_of(block_sum(squares), columns, a.eps);
      for (std::int64_t i = threadIdx.x; i < columns; i += kThreads)
        a.out_norm.set(c.row, i, peer_total<F>(c, i, share) * scale * a.weight.cell(0, i));
    }
    F::leave(c);
  }
  __syncthreads();
  if (threadIdx.x == 0) c.of(a.group.rank).turns = c.turn;
}

template <class F>
assay_status peer_call(const assay_call* call, PeerArgs a) {
  a.group = *static_cast<const PeerGroup*>(call->state);
  const std::int64_t rows = a.out_residual.rows;
  if (rows == 0 || a.x.columns == 0) return ASSAY_OK;
  if (a.x.columns > kPeerColumns) return ASSAY_UNSUPPORTED;
  F::decide(&a);
  const auto blocks = static_cast<unsigned>(rows < kPeerChannels ? rows : kPeerChannels);
  peer_kernel<F><<<blocks, kThreads, 0, call->cuda_stream>>>(a);
  return launched(call);
}

template <class F>
assay_status peer_all_reduce(const assay_call* call, assay_in x, assay_out out) {
  PeerArgs a{};
  a.x = rows_of(*x);
  a.out_residual = rows_of(*out);
  return peer_call<F>(call, a);
}

inline PeerArgs peer_norm_args(assay_in x, assay_in residual, assay_in weight, double eps, assay_out out_norm,
                               assay_out out_residual) {
  PeerArgs a{};
  a.x = rows_of(*x);
  a.residual = rows_of(*residual);
  a.weight = rows_of(*weight);
  a.out_norm = rows_of(*out_norm);
  a.out_residual = rows_of(*out_residual);
  a.normalises = true;
  a.eps = static_cast<float>(eps);
  return a;
}
template <class F>
assay_status peer_arnorm(const assay_call* call, assay_in x, assay_in residual, assay_in weight, double eps,
                         assay_out out_norm, assay_out out_residual) {
  return peer_call<F>(call, peer_norm_args(x, residual, weight, eps, out_norm, out_residual));
}
template <class F>
assay_status peer_finalize(const assay_call* call, assay_in gemm_out, assay_in row_map, assay_in scales,
                           assay_in residual, assay_in weight, double eps, assay_out out_norm, assay_out out_residual) {
  PeerArgs a = peer_norm_args(gemm_out, residual, weight, eps, out_norm, out_residual);
  a.map = static_cast<const std::int32_t*>(row_map->data);
  a.scales = static_cast<const float*>(scales->data);
  a.map_step = row_map->strides[0];
  a.scale_pitch = scales->strides[0];
  a.scale_step = scales->strides[1];
  a.tokens = scales->shape[0];
  a.places = scales->shape[1];
  return peer_call<F>(call, a);
}

template <class F>
assay_status peer_init(const assay_call* call, void** state) {
  const assay_status loaded = preload(call, state, peer_kernel<F>);
  if (loaded != ASSAY_OK) return loaded;
  const assay_group* group = call->group;
  if (group == nullptr || group->world_size > kPeerWorld) return ASSAY_UNSUPPORTED;
  void* blocks[kPeerWorld] = {};
  const assay_status status = group->api->symmetric(group, kPeerChannels * sizeof(PeerMemory), blocks);
  if (status != ASSAY_OK) return status;
  auto* const kept = new (std::nothrow) PeerGroup{};
  if (kept == nullptr) return ASSAY_ERROR;
  for (int rank = 0; rank < group->world_size; ++rank) kept->blocks[rank] = static_cast<PeerMemory*>(blocks[rank]);
  kept->rank = group->rank;
  kept->world = group->world_size;
  *state = kept;
  return ASSAY_OK;
}
inline assay_status peer_destroy(void* state) {
  delete static_cast<PeerGroup*>(state);
  return ASSAY_OK;
}

template <class F>
assay_variant peer_variant(const char* slot, assay_entry entry) {
  assay_variant v = variant_of(slot, F::kFlags, entry, peer_init<F>);
  v.capabilities = R"({"last_dim": {"max": 8192}, "world_size": {"min": 1, "max": 8}})";
  v.destroy = peer_destroy;
  return v;
}

}  // namespace faulty

#define FAULTY_PEER_LIBRARY(Fault, slot, member, function)                                                  \
  const assay_library* assay_get_library(uint32_t harness_abi_version) {                                    \
    static const assay_variant variant = faulty::peer_variant<Fault>(slot, {.member = function<Fault>});    \
    static const assay_variant* const variants[] = {&variant};                                              \
    static const assay_library library = {sizeof library, ASSAY_ABI_VERSION, "faulty", "1.0", variants, 1}; \
    return harness_abi_version == ASSAY_ABI_VERSION ? &library : nullptr;                                   \
  }
#define FAULTY_PEER_ALL_REDUCE(Fault) \
  FAULTY_PEER_LIBRARY(Fault, "collective.all_reduce", all_reduce, faulty::peer_all_reduce)
#define FAULTY_PEER_ARNORM(Fault) \
  FAULTY_PEER_LIBRARY(Fault, "collective.ar_residual_rmsnorm", ar_residual_rmsnorm, faulty::peer_arnorm)
#define FAULTY_PEER_FINALIZE(Fault) \
  FAULTY_PEER_LIBRARY(Fault, "collective.moe_finalize_ar_rmsnorm", moe_finalize_ar_rmsnorm, faulty::peer_finalize)
