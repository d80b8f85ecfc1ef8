// main.cc: assay_bench, the budgets of design.md as benchmarks. `assay_bench --benchmark_filter=BareTrial`.
#include <benchmark/benchmark.h>

#include <filesystem>

#include "conformance/assay_bench/library_under_test.hpp"
#include "conformance/installation.hpp"

namespace assay {

std::string library_under_test(DeviceType device) {
  const auto folder = std::filesystem::path(own_path()).parent_path();
  const auto path = folder / (device == DeviceType::cuda ? "libassay_cuda_kernels.so" : "libassay_host_kernels.so");
  return std::filesystem::exists(path) ? path.string() : "";
}

}  // namespace assay

BENCHMARK_MAIN();
