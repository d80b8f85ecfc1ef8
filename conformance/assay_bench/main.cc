// main.cc: assay_bench, the budgets of design.md as benchmarks. `assay_bench --benchmark_filter=BareTrial`.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdio>

#include "conformance/assay_bench/library_under_test.hpp"

int main(int argc, char** argv) {
  // Its benchmarks register themselves; it is there where the build's libtorch can be compared with.
  if (const std::string pytorch = assay::file_beside("libassay_bench_pytorch.so");
      !pytorch.empty() && !dlopen(pytorch.c_str(), RTLD_NOW | RTLD_LOCAL))
    std::fprintf(stderr, "assay_bench: without the comparison with PyTorch: %s\n", dlerror());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
