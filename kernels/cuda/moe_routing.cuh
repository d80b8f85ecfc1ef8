// moe_routing.cuh: which rows belong to which expert, found on the device.
//
// A pair is one place of one token's list: token * top_k + place. Pairs are sorted by expert and, inside an expert, by
// their own order; a position is an index into that sorted list. Each expert's positions are cut into tiles of
// kTileRows rows. Tiles lie in slots that follow from counts alone, without a scan over experts: the first tile of
// expert e takes slot begin / kTileRows + min(e, begin), where begin counts the pairs of the experts before it. No two
// experts share a slot, and tile_slots() bounds them by the shapes.
//
// Promises: nothing depends on the order in which threads run; ids outside [0, experts) belong to no tile and harm
// nothing. Tiles without rows are empty after clear_tiles_kernel.
// Who uses it: fused_experts.cu, moe_gemm.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace assay_cuda {

constexpr int kTileRows = 32;
constexpr int kRouteThreads = 256;

struct MoeTile {
  int expert, begin, rows;  // positions [begin, begin + rows)
};

__host__ __device__ inline std::int64_t tiles_of(std::int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }

__host__ __device__ inline std::int64_t first_tile(std::int64_t expert, std::int64_t begin) {
  return begin / kTileRows + (expert < begin ? expert : begin);
}

// Slots that `pairs` > 0 pairs over `experts` experts can need.
__host__ __device__ inline std::int64_t tile_slots(std::int64_t pairs, std::int64_t experts) {
  return (pairs - 1) / kTileRows + (experts < pairs ? experts : pairs);
}

struct RouteArgs {
  const std::int32_t* ids;
  std::int64_t ids_pitch;  // elements
  int top_k, pairs, slots;
  int* sorted;     // pairs by position
  MoeTile* tiles;  // slots of them

  __device__ int expert_of(int pair) const { return ids[pair / top_k * ids_pitch + pair % top_k]; }
};

static __global__ void __launch_bounds__(kRouteThreads) clear_tiles_kernel(const __grid_constant__ RouteArgs a) {
  const std::int64_t slot = static_cast<std::int64_t>(blockIdx.x) * kRouteThreads + threadIdx.x;
  if (slot < a.slots) a.tiles[slot] = MoeTile{0, 0, 0};
}

// Sum over the block; every thread gets it.
__device__ inline int block_sum(int value) {
  __shared__ int partial[kRouteThreads];
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int half = kRouteThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  const int sum = partial[0];
  __syncthreads();
  return sum;
}

// Threads before this one that say yes, and how many do in all.
__device__ inline int block_rank(bool yes, int* total) {
  constexpr int kWarp = 32, kWarps = kRouteThreads / kWarp;
  __shared__ int counts[kWarps];
  const unsigned votes = __ballot_sync(0xffffffffu, yes);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane == 0) counts[warp] = __popc(votes);
  __syncthreads();
  int before = __popc(votes & ((1u << lane) - 1u)), all = 0;
  for (int i = 0; i < kWarps; ++i) {
    if (i < warp) before += counts[i];
    all += counts[i];
  }
  __syncthreads();
  *total = all;
  return before;
}

// One block an expert: counts the pairs of the experts before it and its own, then sorts its own.
static __global__ void __launch_bounds__(kRouteThreads) route_kernel(const __grid_constant__ RouteArgs a) {
  const int expert = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  int before = 0, own = 0;
  for (int pair = thread; pair < a.pairs; pair += kRouteThreads) {
    const int id = a.expert_of(pair);
    before += id < expert ? 1 : 0;
    own += id == expert ? 1 : 0;
  }
  const int begin = block_sum(before), count = block_sum(own);
  // Counts are the same in all threads, so the block leaves this loop together: it holds barriers.
  for (int base = 0, done = 0; done < count && base < a.pairs; base += kRouteThreads) {
    const int pair = base + thread;
    const bool mine = pair < a.pairs && a.expert_of(pair) == expert;
    int total = 0;
    const int rank = block_rank(mine, &total);
    if (mine) a.sorted[begin + done + rank] = pair;
    done += total;
  }
  const int tiles = static_cast<int>(tiles_of(count));
  MoeTile* const to = a.tiles + first_tile(expert, begin);
  for (int i = thread; i < tiles; i += kRouteThreads) {
    const int rows = count - i * kTileRows;
    to[i] = MoeTile{expert, begin + i * kTileRows, rows < kTileRows ? rows : kTileRows};
  }
}

}  // namespace assay_cuda
