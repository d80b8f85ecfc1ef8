// kernel_bandwidth.cc: the CUDA kernels' bytes a second beside a device-to-device copy of as many bytes, same run.
//
// Times one captured graph of 20 calls with events, over buffers that rotate through more memory than the L2 holds.
// Bytes are counted once read, once written. Counter "of_copy" is the share of the copy's rate.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <vector>

#include "assay/abi.h"
#include "conformance/assay_bench/library_under_test.hpp"

namespace assay {
namespace {

constexpr int kCalls = 20;
constexpr std::int64_t kRotatedBytes = std::int64_t{1} << 30;

struct Buffers {
  std::vector<void*> memory;
  ~Buffers() {
    for (void* m : memory) cudaFree(m);
  }
  void* take(std::size_t bytes) {
    void* m = nullptr;
    if (cudaMalloc(&m, bytes) != cudaSuccess) return nullptr;
    cudaMemset(m, 0x3c, bytes);  // small positive numbers
    memory.push_back(m);
    return m;
  }
};

// Seconds of one replay of what `enqueue` puts on a stream, the least of `repeats`.
template <class Enqueue>
double replay_seconds(Enqueue&& enqueue, int repeats) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  enqueue(stream, 0);
  cudaStreamSynchronize(stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int i = 0; i < kCalls; ++i) enqueue(stream, i);
  if (cudaStreamEndCapture(stream, &graph) != cudaSuccess || cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess)
    return 0;
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float best = 1e30F;
  for (int r = 0; r < repeats; ++r) {
    cudaEventRecord(begin, stream);
    cudaGraphLaunch(exec, stream);
    cudaEventRecord(end, stream);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    if (r > 1 && ms < best) best = ms;
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  return 1e-3 * best / kCalls;
}

struct View {
  std::int64_t shape[2], strides[2];
  DLTensor tensor{};
  View(void* data, std::int64_t rows, std::int64_t cols) : shape{rows, cols}, strides{cols, 1} {
    tensor.data = data;
    tensor.device = {kDLCUDA, 0};
    tensor.ndim = cols ? 2 : 1;
    tensor.dtype = {kDLBfloat, 16, 1};
    tensor.shape = shape;
    tensor.strides = strides;
    if (!cols) strides[0] = 1;
  }
  View(const View&) = delete;
};

void Bandwidth(benchmark::State& state, const char* slot, std::int64_t rows, std::int64_t cols) {
  int devices = 0;
  const std::string path = library_under_test(DeviceType::cuda);
  if (path.empty() || cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    state.SkipWithError("no CUDA device, or no CUDA library in this build");
    return;
  }
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto get =
      handle ? reinterpret_cast<const assay_library* (*)(std::uint32_t)>(dlsym(handle, "assay_get_library")) : nullptr;
  const assay_library* library = get ? get(ASSAY_ABI_VERSION) : nullptr;
  const assay_variant* variant = nullptr;
  for (std::uint32_t i = 0; library && i < library->variant_count; ++i)
    if (std::string(library->variants[i]->slot) == slot) variant = library->variants[i];
  if (!variant) {
    state.SkipWithError("the library does not offer the slot");
    return;
  }
  const bool silu = std::string(slot) == "activation.silu_and_mul";
  const std::int64_t in_cols = silu ? 2 * cols : cols;
  const std::size_t in_bytes = static_cast<std::size_t>(rows * in_cols) * 2,
                    out_bytes = static_cast<std::size_t>(rows * cols) * 2;
  const int sets =
      static_cast<int>(std::max<std::int64_t>(2, kRotatedBytes / static_cast<std::int64_t>(in_bytes + out_bytes)));
  Buffers buffers;
  std::vector<void*> xs, outs;
  for (int i = 0; i < sets; ++i) {
    xs.push_back(buffers.take(in_bytes));
    outs.push_back(buffers.take(out_bytes));
  }
  void* weight = buffers.take(static_cast<std::size_t>(cols) * 2);
  assay_call call{};
  call.size = sizeof call;
  call.device = {kDLCUDA, 0};
  void* init_state = nullptr;
  if (variant->init) variant->init(&call, &init_state);
  call.state = init_state;
  const auto enqueue = [&](cudaStream_t stream, int i) {
    View x(xs[static_cast<std::size_t>(i % sets)], rows, in_cols),
        out(outs[static_cast<std::size_t>(i % sets)], rows, cols), w(weight, cols, 0);
    call.cuda_stream = stream;
    if (silu)
      variant->entry.silu_and_mul(&call, &x.tensor, &out.tensor);
    else
      variant->entry.rmsnorm(&call, &x.tensor, &w.tensor, &out.tensor, 1e-6);
  };
  // A copy that moves as many bytes: half of them read, half written.
  const std::size_t copied = (in_bytes + out_bytes) / 2;
  Buffers copy_buffers;
  std::vector<void*> from, to;
  for (int i = 0; i < sets; ++i) {
    from.push_back(copy_buffers.take(copied));
    to.push_back(copy_buffers.take(copied));
  }
  for (auto _ : state) {
    const double seconds = replay_seconds(enqueue, 12);
    const double copy = replay_seconds(
        [&](cudaStream_t stream, int i) {
          const auto k = static_cast<std::size_t>(i % sets);
          cudaMemcpyAsync(to[k], from[k], copied, cudaMemcpyDeviceToDevice, stream);
        },
        12);
    state.SetIterationTime(seconds);
    state.counters["GB/s"] = static_cast<double>(in_bytes + out_bytes) / seconds / 1e9;
    state.counters["copy_GB/s"] = static_cast<double>(2 * copied) / copy / 1e9;
    state.counters["of_copy"] = copy / seconds;
  }
}

}  // namespace

BENCHMARK_CAPTURE(Bandwidth, silu_4096x4096, "activation.silu_and_mul", 4096, 4096)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Bandwidth, silu_16384x8192, "activation.silu_and_mul", 16384, 8192)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Bandwidth, rmsnorm_4096x4096, "norm.rmsnorm", 4096, 4096)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Bandwidth, rmsnorm_16384x8192, "norm.rmsnorm", 16384, 8192)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMicrosecond);

}  // namespace assay
