// trial_overhead.cc: what the machine around a kernel costs: a bare eager trial, a judged one, a fresh worker.
//
// Floors measured before the first line of code [m, H200]: a trial 0.33 ms time-sliced, 0.055 ms under MPS.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "assay/rule.hpp"
#include "conformance/assay_bench/library_under_test.hpp"
#include "conformance/candidate.hpp"
#include "conformance/installation.hpp"
#include "harness/case/generate.hpp"
#include "harness/drive/drives.hpp"

namespace assay {
namespace {

// A judge with a worker for one device; the benchmark says so where the device or its library is absent.
struct Stand {
  std::unique_ptr<MemoryDomain> domain;
  ReferenceModule references{reference_path()};
  std::unique_ptr<Bench> bench;
  Candidate candidate;
  const CandidateVariant* variant = nullptr;

  bool build(benchmark::State& state, DeviceType device) {
    const std::string library = library_under_test(device);
    if (library.empty()) return skip(state, "no library for this device in this build");
    try {
      domain = device == DeviceType::cuda ? make_cuda_memory(0) : make_host_memory();
    } catch (const DeviceError& error) {
      return skip(state, error.what());
    }
    BenchConfig config;
    config.worker.worker = worker_path();
    config.worker.library = library;
    config.worker.device = device;
    candidate = load_candidate(config.worker);
    for (const CandidateVariant& v : candidate.variants)
      if (v.slot->id == "activation.silu_and_mul" && v.device == device) variant = &v;
    if (!variant) return skip(state, "the library has no silu_and_mul");
    bench = std::make_unique<Bench>(config, *domain, references);
    bench->use(*variant->slot, variant->info);
    return true;
  }

  static bool skip(benchmark::State& state, const std::string& why) {
    state.SkipWithError(why.c_str());
    return false;
  }
};

Case small_case(const SlotSpec& slot) {
  Case c;
  c.dtype = DType::bf16;
  c.dims = {{"rows", 1}, {"d", 64}};
  repair(slot, c);
  return c;
}

// An eager 1x64 trial without a reference, less the time in the entry.
void BareTrial(benchmark::State& state, DeviceType device) {
  Stand stand;
  if (!stand.build(state, device)) return;
  const Case c = small_case(*stand.variant->slot);
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    Observation seen;
    seen.trial.part.cases = {c};
    stand.bench->begin_trial(seen);
    Binding& b = stand.bench->bind(c);
    stand.bench->push(b);
    const int call = stand.bench->script().call(b, 0);
    stand.bench->script().simple(Op::sync, 0);
    stand.bench->collect(b, "call", {.call = call, .reference = false});
    if (!stand.bench->flush()) {
      state.SkipWithError("the trial failed");
      return;
    }
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    state.SetIterationTime(std::max(0.0, wall - 1e-9 * static_cast<double>(seen.calls.front().nanoseconds)));
  }
}

// The same trial with its reference, judged by every rule that reads the eager drive.
void JudgedTrial(benchmark::State& state, DeviceType device) {
  Stand stand;
  if (!stand.build(state, device)) return;
  Trial trial;
  trial.variant = stand.variant->info.id;
  trial.device = device;
  trial.part.cases.push_back(small_case(*stand.variant->slot));
  benchmark::DoNotOptimize(observe(*stand.bench, trial, Tier::quick).calls.data());  // loads the references
  for (auto _ : state) {
    ++trial.part.cases.front().seed;  // fresh values: no reference is remembered
    const Observation seen = observe(*stand.bench, trial, Tier::quick);
    for (const RuleSpec* rule : rule_catalogue())
      if (std::find(rule->drives.begin(), rule->drives.end(), Drive::eager) != rule->drives.end())
        benchmark::DoNotOptimize(judge(*rule, seen).verdict);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

void FreshWorker(benchmark::State& state, DeviceType device) {
  Stand stand;
  if (!stand.build(state, device)) return;
  Trial trial;
  trial.variant = stand.variant->info.id;
  trial.device = device;
  trial.part.cases.push_back(small_case(*stand.variant->slot));
  benchmark::DoNotOptimize(observe(*stand.bench, trial, Tier::quick).calls.data());
  for (auto _ : state) {
    stand.bench->retire_worker();
    benchmark::DoNotOptimize(observe(*stand.bench, trial, Tier::quick).calls.data());
  }
}

}  // namespace

BENCHMARK_CAPTURE(BareTrial, host, DeviceType::host)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BareTrial, cuda, DeviceType::cuda)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(JudgedTrial, host, DeviceType::host)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(JudgedTrial, cuda, DeviceType::cuda)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(FreshWorker, host, DeviceType::host)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(FreshWorker, cuda, DeviceType::cuda)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(5);

}  // namespace assay
