#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cuda/peer/stress/latency.hpp"

namespace stress {
namespace {

constexpr int kColumns = 6144, kGraphCalls = 32, kRepeats = 15, kLaunches = 20;
constexpr int kGroup = 8, kThreads = kColumns / kGroup;

// The yardstick: residual and RMSNorm on the sum that NCCL left, one block a row, a row read once.
__global__ void __launch_bounds__(kThreads)
    norm_kernel(const __nv_bfloat16* sum, const __nv_bfloat16* residual, const __nv_bfloat16* weight,
                __nv_bfloat16* out_norm, __nv_bfloat16* out_residual) {
  __shared__ float partial[kThreads / 32];
  const std::int64_t at = std::int64_t{blockIdx.x} * kColumns + threadIdx.x * kGroup;
  __nv_bfloat16 a[kGroup], b[kGroup], w[kGroup];
  *reinterpret_cast<uint4*>(a) = *reinterpret_cast<const uint4*>(sum + at);
  *reinterpret_cast<uint4*>(b) = *reinterpret_cast<const uint4*>(residual + at);
  *reinterpret_cast<uint4*>(w) = *reinterpret_cast<const uint4*>(weight + threadIdx.x * kGroup);
  float held[kGroup], squares = 0.0f;
#pragma unroll
  for (int i = 0; i < kGroup; ++i) {
    held[i] = __bfloat162float(a[i]) + __bfloat162float(b[i]);
    squares = fmaf(held[i], held[i], squares);
    a[i] = __float2bfloat16_rn(held[i]);
  }
  *reinterpret_cast<uint4*>(out_residual + at) = *reinterpret_cast<const uint4*>(a);
  for (int lane = 16; lane > 0; lane /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, lane);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = squares;
  __syncthreads();
  squares = threadIdx.x % 32 < kThreads / 32 ? partial[threadIdx.x % 32] : 0.0f;
  for (int lane = 16; lane > 0; lane /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, lane);
  const float scale = rsqrtf(squares / kColumns + kEps);
#pragma unroll
  for (int i = 0; i < kGroup; ++i) b[i] = __float2bfloat16_rn(held[i] * scale * __bfloat162float(w[i]));
  *reinterpret_cast<uint4*>(out_norm + at) = *reinterpret_cast<const uint4*>(b);
}

// The few names of NCCL's C interface that are needed, as its documentation states them.
class Nccl {
 public:
  struct Id {
    char bytes[128];
  };

  // Throws with a sentence where there is none.
  Nccl(const char* path, const Group& group) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(std::string("NCCL is left out: ") + dlerror());
    const auto find = [&](const char* name) {
      void* const symbol = dlsym(library, name);
      if (symbol == nullptr) throw std::runtime_error(std::string("NCCL is left out: ") + dlerror());
      return symbol;
    };
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    const auto get_id = reinterpret_cast<int (*)(Id*)>(find("ncclGetUniqueId"));
    const auto join = reinterpret_cast<int (*)(void**, int, Id, int)>(find("ncclCommInitRank"));
    all_reduce_ = reinterpret_cast<AllReduce>(find("ncclAllReduce"));
    Id mine{}, ids[kMostRanks];
    if (group.handle.rank == 0 && get_id(&mine) != 0) throw std::runtime_error("NCCL is left out: it gives no id");
    group.handle.api->exchange(&group.handle, &mine, ids, sizeof mine);
    if (join(&comm_, group.handle.world_size, ids[0], group.handle.rank) != 0)
      throw std::runtime_error("NCCL is left out: its group did not form");
  }
  void all_reduce(const void* x, void* out, std::size_t cells, cudaStream_t stream) const {
    constexpr int kBf16 = 9, kSum = 0;
    if (all_reduce_(x, out, cells, kBf16, kSum, comm_, stream) != 0) throw std::runtime_error("ncclAllReduce failed");
  }

 private:
  using AllReduce = int (*)(const void*, void*, std::size_t, int, int, void*, cudaStream_t);
  AllReduce all_reduce_ = nullptr;
  void* comm_ = nullptr;
};

class Stopwatch {
 public:
  explicit Stopwatch(const Group& group) : group_(group) {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    require(cudaEventCreate(&begin_), "cudaEventCreate");
    require(cudaEventCreate(&end_), "cudaEventCreate");
  }

  // Microseconds a call.
  [[nodiscard]] double eager(const std::function<void(cudaStream_t)>& call) const {
    return median(kLaunches * kGraphCalls, [&] {
      for (int i = 0; i < kLaunches * kGraphCalls; ++i) call(stream_);
    });
  }
  [[nodiscard]] double in_graph(const std::function<void(cudaStream_t)>& call) const {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int i = 0; i < kGraphCalls; ++i) call(stream_);
    require(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    return median(kLaunches * kGraphCalls, [&] {
      for (int i = 0; i < kLaunches; ++i) require(cudaGraphLaunch(executable, stream_), "cudaGraphLaunch");
    });
  }

 private:
  [[nodiscard]] double median(int calls, const std::function<void()>& work) const {
    std::vector<double> times;
    for (int i = 0; i < kRepeats; ++i) {
      group_.meet();
      require(cudaEventRecord(begin_, stream_), "cudaEventRecord");
      work();
      require(cudaEventRecord(end_, stream_), "cudaEventRecord");
      require(cudaStreamSynchronize(stream_), "timing");
      float milliseconds = 0;
      require(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
      times.push_back(group_.slowest(1000.0 * milliseconds / calls));
    }
    std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
    return times[kRepeats / 2];
  }

  const Group& group_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

void print_latency(const Candidate& candidate, const Group& group, const char* nccl_library) {
  const bool speaks = group.handle.rank == 0;
  std::vector<Nccl> nccl;  // none or one
  try {
    nccl.emplace_back(nccl_library, group);
  } catch (const std::runtime_error& error) {
    if (speaks) std::printf("%s\n", error.what());
  }
  const Stopwatch watch(group);
  CallBuffers buffers;
  __nv_bfloat16* plain[5] = {};  // x or sum, residual, weight, and both outputs of the yardstick
  for (auto& memory : plain) {
    void* made = nullptr;
    require(cudaMalloc(&made, std::size_t{2} * kMostRows * kColumns), "cudaMalloc");
    require(cudaMemset(made, 0, std::size_t{2} * kMostRows * kColumns), "cudaMemset");
    memory = static_cast<__nv_bfloat16*>(made);
  }

  if (speaks)
    std::printf("microseconds a call, bf16, %d columns, %d ranks; graph: %d calls in one graph\n%-5s %-42s %8s %8s\n",
                kColumns, group.handle.world_size, kGraphCalls, "rows", "what", "eager", "graph");
  const auto row = [&](int rows, const char* what, const std::function<void(cudaStream_t)>& call) {
    const double eager = watch.eager(call), graph = watch.in_graph(call);
    if (speaks) std::printf("%-5d %-42s %8.2f %8.2f\n", rows, what, eager, graph);
  };
  for (const int rows : {1, 8, 32, 47, 48, 64, 256}) {
    const auto own = [&](Op op) {
      return [&, op](cudaStream_t stream) {
        if (buffers.shape().op != op || buffers.shape().rows != rows)
          buffers.lay_out(Shape{op, Type::bf16, rows, kColumns, rows, 1, 1, 0}, 0);
        candidate.call(buffers, stream);
      };
    };
    const std::size_t cells = std::size_t{kColumns} * static_cast<std::size_t>(rows);
    if (candidate.offers(Op::all_reduce)) row(rows, "candidate all_reduce", own(Op::all_reduce));
    if (!nccl.empty())
      row(rows, "ncclAllReduce", [&](cudaStream_t stream) { nccl[0].all_reduce(plain[0], plain[0], cells, stream); });
    if (candidate.offers(Op::norm)) row(rows, "candidate ar_residual_rmsnorm", own(Op::norm));
    if (!nccl.empty())
      row(rows, "ncclAllReduce, then residual and RMSNorm", [&](cudaStream_t stream) {
        nccl[0].all_reduce(plain[0], plain[0], cells, stream);
        norm_kernel<<<rows, kThreads, 0, stream>>>(plain[0], plain[1], plain[2], plain[3], plain[4]);
      });
  }
}

}  // namespace stress
