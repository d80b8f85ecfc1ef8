// Ranks whose workers own their memory: on the host, and on GPUs where there are any.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "harness/device/cuda/cuda_device.hpp"
#include "harness/rank/rank_set.hpp"

namespace assay {
namespace {

using Use = WorkerSession::Use;

enum Id : std::uint32_t { kIn, kOut, kShelfArena };

// One all-reduce of 4 x 64 floats a call; rank r holds (r + 1) * (i % 7) in call 0, and as much again in each later
// one.
class HostedStage {
 public:
  HostedStage(const std::string& library, DeviceType device, int world) : set_(config(library, device), world, true) {
    for (int r = 0; r < world; ++r) shelves_.push_back(host_->create({kUnit, {{0, kUnit}}}));
  }

  std::optional<Fault> open() {
    if (auto fault = set_.open()) return fault;
    const auto table = nlohmann::json::parse(set_[0].description()).at("variants");
    while (variant_ < table.size() && table[variant_].dump().find("collective.all_reduce") == std::string::npos)
      ++variant_;
    if (auto fault = set_.map(kIn, plans(), Access::read_only, Use::hosted)) return fault;
    if (auto fault = set_.map(kOut, plans(), Access::read_write, Use::hosted)) return fault;
    std::vector<const Arena*> shelves;
    for (const auto& s : shelves_) shelves.push_back(s.get());
    if (auto fault = set_.map(kShelfArena, shelves, Access::read_write, Use::shelf)) return fault;
    return set_.init(variant_);
  }

  // Eagerly, or captured once and replayed with fresh inputs. `lonely`: a rank that makes no call.
  RankSet::Run run(int calls, bool captured, int lonely = -1, int deadline_ms = 60'000) {
    calls_ = calls;
    for (int r = 0; r < set_.world(); ++r) {
      auto* const cells = reinterpret_cast<float*>(shelves_[static_cast<std::size_t>(r)]->base());
      for (int c = 0; c < calls; ++c)
        for (int i = 0; i < kCells; ++i) cells[c * kCells + i] = value(r, c, i);
      Program& p = set_[r].program();
      p.step_count = p.tensor_count = p.done = 0;
      step(p, Op::reset);
      step(p, Op::meet).a = kWorldGroup;
      if (captured) {
        call(p);  // warm-up
        step(p, Op::sync);
        step(p, Op::begin_capture);
        call(p);
        step(p, Op::end_capture);
      }
      for (int c = 0; c < calls && r != lonely; ++c) {
        copy(p, {kIn, 0, 0, kBytes}, {kShelfArena, 0, bytes(c), kBytes});
        ProgramStep& poison = step(p, Op::fill);
        poison.to = {kOut, 0, 0, kBytes};
        poison.pattern = 0x7FC00000;
        poison.pattern_bytes = 4;
        if (captured)
          step(p, Op::launch);
        else
          call(p);
        copy(p, {kShelfArena, 0, bytes(calls + c), kBytes}, {kOut, 0, 0, kBytes});
      }
      step(p, Op::sync);
    }
    return set_.run(deadline_ms);
  }

  void expect_sums() {
    const int total = set_.world() * (set_.world() + 1) / 2;
    for (int r = 0; r < set_.world(); ++r)
      for (int c = 0; c < calls_; ++c) {
        const auto* const cells = reinterpret_cast<const float*>(shelves_[static_cast<std::size_t>(r)]->base());
        int wrong = 0;
        for (int i = 0; i < kCells; ++i)
          wrong += cells[(calls_ + c) * kCells + i] != static_cast<float>(total * (c + 1) * (i % 7));
        EXPECT_EQ(wrong, 0) << "rank " << r << " call " << c;
      }
  }
  std::string failed_step(const RankSet::Run& run) {
    if (run.fault) return run.fault->text;
    if (run.failed < 0) return {};
    const Program& p = set_[run.failed].program();
    for (std::uint32_t i = 0; i < p.step_count; ++i)
      if (p.results[i].code != StepCode::ok) return "step " + std::to_string(i) + ": " + p.results[i].text;
    return "unknown";
  }
  RankSet& set() { return set_; }

 private:
  static constexpr std::uint64_t kUnit = 2u << 20;
  static constexpr int kCells = 256;
  static constexpr std::uint64_t kBytes = kCells * sizeof(float);

  static float value(int rank, int call, int i) { return static_cast<float>((rank + 1) * (call + 1) * (i % 7)); }
  static std::uint64_t bytes(int slot) { return static_cast<std::uint64_t>(slot) * kBytes; }
  static WorkerConfig config(const std::string& library, DeviceType device) {
    WorkerConfig c;
    c.worker = ASSAY_WORKER;
    c.library = library;
    c.device = device;
    return c;
  }
  std::vector<const Arena*> plans() const {
    return std::vector<const Arena*>(shelves_.size(), shelves_.front().get());  // any arena of the plan
  }
  static ProgramStep& step(Program& p, Op op) {
    ProgramStep& s = p.steps[p.step_count++];
    s = ProgramStep{};
    s.op = op;
    return s;
  }
  static void copy(Program& p, ProgramRegion to, ProgramRegion from) {
    ProgramStep& s = step(p, Op::copy);
    s.to = to;
    s.from = from;
  }
  void call(Program& p) const {
    ProgramStep& s = step(p, Op::call);
    s.a = variant_;
    s.group = kWorldGroup;
    for (const auto& [kind, arena] : {std::pair('i', kIn), std::pair('o', kOut)}) {
      ProgramTensor& t = p.tensors[p.tensor_count];
      t = ProgramTensor{};
      t.arena = arena;
      t.code = kDLFloat;
      t.bits = 32;
      t.rank = 2;
      t.shape[0] = 4;
      t.shape[1] = t.strides[0] = kCells / 4;
      t.strides[1] = 1;
      ProgramArgument& a = s.arguments[s.argument_count++];
      a = {};
      a.kind = kind;
      a.tensor = p.tensor_count++;
    }
  }

  std::unique_ptr<MemoryDomain> host_ = make_host_memory();
  std::vector<std::unique_ptr<Arena>> shelves_;
  RankSet set_;
  std::uint32_t variant_ = 0;
  int calls_ = 0;
};

// Why there is nothing to test on GPUs; empty: there is.
std::string no_gpu() {
#ifndef ASSAY_NCCL_KERNELS
  return "this build has no NCCL kernels";
#else
  try {
    return count_cuda_devices() > 0 ? "" : "there is no GPU";
  } catch (const DeviceError& error) {
    return error.what();
  }
#endif
}
#ifndef ASSAY_NCCL_KERNELS
#define ASSAY_NCCL_KERNELS ""
#define ASSAY_PEER_KERNELS ""
#define ASSAY_DEVICE_PEERS ""
#endif

TEST(HostedRanks, OnTheHostEveryRankGetsTheSumFromMemoryOfItsOwn) {
  for (const int world : {1, 2, 4})
    for (const bool captured : {false, true}) {
      HostedStage stage(ASSAY_HOST_KERNELS, DeviceType::host, world);
      ASSERT_FALSE(stage.open());
      const RankSet::Run run = stage.run(3, captured);
      ASSERT_EQ(stage.failed_step(run), "");
      stage.expect_sums();
    }
}

class HostedGpuRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_gpu(); !why.empty()) GTEST_SKIP() << why;
  }
};

void expect_sums_of(const std::string& library) {
  for (const int world : {1, 2, 4})
    for (const bool captured : {false, true}) {
      HostedStage stage(library, DeviceType::cuda, world);
      const auto fault = stage.open();
      ASSERT_FALSE(fault) << fault->text << stage.set().output();
      double best_ms = 1e9;
      for (int again = 0; again < 3; ++again) {
        const auto start = std::chrono::steady_clock::now();
        const RankSet::Run run = stage.run(20, captured);
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        best_ms = std::min(best_ms, took.count());
        ASSERT_EQ(stage.failed_step(run), "") << world << (captured ? " captured" : " eager") << stage.set().output();
        stage.expect_sums();
      }
      std::printf("%d ranks, 20 calls%s: %.1f ms\n", world, captured ? " in graphs" : "", best_ms);
    }
}
TEST_F(HostedGpuRanks, EveryRankGetsTheSumOverNcclEagerlyAndInAGraph) { expect_sums_of(ASSAY_NCCL_KERNELS); }
TEST_F(HostedGpuRanks, EveryRankGetsTheSumOverPeerMemoryEagerlyAndInAGraph) { expect_sums_of(ASSAY_PEER_KERNELS); }

TEST_F(HostedGpuRanks, ExchangeAndSymmetricGiveEveryRankWhatThePeersGave) {
  for (const int world : {1, 2, 4}) {
    HostedStage stage(ASSAY_DEVICE_PEERS, DeviceType::cuda, world);
    const auto fault = stage.open();  // its init checks what it was given
    ASSERT_FALSE(fault) << fault->text << stage.set().output();
    EXPECT_EQ(stage.set()[0].nccl().path, "") << "a library without NCCL needs none";
  }
}

TEST_F(HostedGpuRanks, ARankThatNeverCallsIsEndedByTheDeadlineAndAFreshSetWorks) {
  {
    HostedStage stage(ASSAY_NCCL_KERNELS, DeviceType::cuda, 2);
    ASSERT_FALSE(stage.open());
    const RankSet::Run run = stage.run(1, false, 1, 3000);
    ASSERT_TRUE(run.fault);
    EXPECT_EQ(name_of(run.fault->reason), "timeout") << run.fault->text;
    EXPECT_FALSE(stage.set().alive());
  }
  HostedStage stage(ASSAY_NCCL_KERNELS, DeviceType::cuda, 2);
  ASSERT_FALSE(stage.open());
  ASSERT_EQ(stage.failed_step(stage.run(2, false)), "");
  stage.expect_sums();
}

}  // namespace
}  // namespace assay
