// cuda_kernel.hpp: a kernel of this build's CUDA library, ready to be called, and how long a replayed call takes.
//
// A graph of 20 calls is timed with events, so that what a launch costs on the host is part of no figure.
//
//   CudaKernel kernel;
//   if (!kernel.load(state, "norm.rmsnorm")) return;
//   const double seconds = replay_seconds([&](cudaStream_t stream, int i) {
//     kernel.variant->entry.rmsnorm(kernel.on(stream), &x[i], &weight, &out, 1e-6);
//   });
#pragma once

#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <string>

#include "assay/abi.h"
#include "conformance/assay_bench/library_under_test.hpp"

namespace assay {

inline constexpr int kCalls = 20;
inline constexpr int kReplays = 12;

// The library stays loaded: its kernels do.
struct CudaKernel {
  const assay_variant* variant = nullptr;
  assay_call call{};

  CudaKernel() = default;
  CudaKernel(const CudaKernel&) = delete;
  ~CudaKernel() {
    cudaFree(call.workspace);
    if (variant && variant->destroy) variant->destroy(call.state);
  }

  // false: the benchmark says why it is skipped.
  bool load(benchmark::State& state, const std::string& slot) {
    int devices = 0;
    const std::string path = library_under_test(DeviceType::cuda);
    if (path.empty() || cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      state.SkipWithError("no CUDA device, or no CUDA library in this build");
      return false;
    }
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto get =
        handle ? reinterpret_cast<decltype(&assay_get_library)>(dlsym(handle, "assay_get_library")) : nullptr;
    const assay_library* library = get ? get(ASSAY_ABI_VERSION) : nullptr;
    for (std::uint32_t i = 0; library && i < library->variant_count; ++i)
      if (library->variants[i]->slot == slot) variant = library->variants[i];
    call.size = sizeof call;
    call.device = {kDLCUDA, 0};
    if (!variant || (variant->init && variant->init(&call, &call.state) != ASSAY_OK)) {
      state.SkipWithError("the library does not offer the slot, or could not load its kernels");
      return false;
    }
    return true;
  }

  // Scratch for calls with these tensors, where the kernel asks for any.
  bool reserve(benchmark::State& state, const DLTensor* const* tensors, std::uint32_t count) {
    if (!variant->workspace || (variant->workspace(&call, tensors, count, &call.workspace_bytes) == ASSAY_OK &&
                                cudaMalloc(&call.workspace, call.workspace_bytes) == cudaSuccess))
      return true;
    state.SkipWithError("no room for the kernel's scratch");
    return false;
  }

  const assay_call* on(cudaStream_t stream) {
    call.cuda_stream = stream;
    return &call;
  }
};

// Seconds of one call of what `enqueue` puts on a stream, in the fastest replay; 0 where it cannot be captured.
template <class Enqueue>
double replay_seconds(Enqueue&& enqueue) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  enqueue(stream, 0);
  cudaStreamSynchronize(stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);  // PyTorch's operators allocate their outputs
  for (int i = 0; i < kCalls; ++i) enqueue(stream, i);
  if (cudaStreamEndCapture(stream, &graph) != cudaSuccess || cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess)
    return 0;
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float best = 1e30F;
  for (int r = 0; r < kReplays; ++r) {
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

}  // namespace assay
