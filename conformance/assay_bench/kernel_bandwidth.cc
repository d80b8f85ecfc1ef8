// kernel_bandwidth.cc: the CUDA kernels' bytes a second beside a device-to-device copy of as many bytes, same run.
//
// Replayed from a graph (cuda_kernel.hpp), over buffers that rotate through more memory than the L2 holds. Bytes are
// counted once read, once written. Counter "of_copy" is the share of the copy's rate.
#include <algorithm>
#include <vector>

#include "conformance/assay_bench/cuda_kernel.hpp"

namespace assay {
namespace {

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
  CudaKernel kernel;
  if (!kernel.load(state, slot)) return;
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
  const auto enqueue = [&](cudaStream_t stream, int i) {
    View x(xs[static_cast<std::size_t>(i % sets)], rows, in_cols),
        out(outs[static_cast<std::size_t>(i % sets)], rows, cols), w(weight, cols, 0);
    if (silu)
      kernel.variant->entry.silu_and_mul(kernel.on(stream), &x.tensor, &out.tensor);
    else
      kernel.variant->entry.rmsnorm(kernel.on(stream), &x.tensor, &w.tensor, &out.tensor, 1e-6);
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
    const double seconds = replay_seconds(enqueue);
    const double copy = replay_seconds([&](cudaStream_t stream, int i) {
      const auto k = static_cast<std::size_t>(i % sets);
      cudaMemcpyAsync(to[k], from[k], copied, cudaMemcpyDeviceToDevice, stream);
    });
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
