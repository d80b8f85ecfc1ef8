// Sets of real workers: they run together, end together, and leave nothing behind.
#include "harness/rank/rank_set.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "harness/device/memory.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

std::set<pid_t> children() {
  std::set<pid_t> pids;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (pid_t pid; list >> pid;) pids.insert(pid);
  }
  return pids;
}

std::size_t open_descriptors() {
  const auto list = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(list), end(list)));
}

std::size_t mapped_groups() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:group") != std::string::npos;
  return count;
}

// One all-reduce of 2 x 3 floats by the library's first variant of it; rank r holds r + 1 everywhere.
class Stage {
 public:
  Stage(const std::string& library, int world) : set_(config(library), world, true) {
    for (int r = 0; r < world; ++r) {
      inputs_.push_back(memory_->create({kSpan, {{0, kSpan}}}));
      outputs_.push_back(memory_->create({kSpan, {{0, kSpan}}}));
    }
  }

  std::optional<Fault> open() {
    if (auto fault = set_.open()) return fault;
    if (auto fault = set_.map(0, of(inputs_), Access::read_only, WorkerSession::Use::lent)) return fault;
    if (auto fault = set_.map(1, of(outputs_), Access::read_write, WorkerSession::Use::lent)) return fault;
    const auto table = nlohmann::json::parse(set_[0].description()).at("variants");
    for (std::size_t i = 0; i < table.size(); ++i)
      if (table[i].dump().find("collective.all_reduce") != std::string::npos) {
        variant_ = static_cast<std::uint32_t>(i);
        return set_.init(variant_);
      }
    ADD_FAILURE() << "no all_reduce";
    return std::nullopt;
  }

  // `lonely`: a rank whose program makes no call; it is lost, if so, instead.
  RankSet::Run run(int deadline_ms = 2000, int lonely = -1, std::optional<Loss> loss = std::nullopt) {
    for (int r = 0; r < set_.world(); ++r) {
      auto* x = reinterpret_cast<float*>(inputs_[static_cast<std::size_t>(r)]->base());
      std::fill(x, x + 6, static_cast<float>(r + 1));
      Program& p = set_[r].program();
      p.step_count = p.tensor_count = p.done = 0;
      step(p, Op::reset);
      step(p, Op::meet).a = kWorldGroup;
      if (r != lonely) {
        ProgramStep& call = step(p, Op::call);
        call.a = variant_;
        call.group = kWorldGroup;
        tensor(p, call, 'i', 0);
        tensor(p, call, 'o', 1);
      } else if (loss) {
        ProgramStep& lost = step(p, Op::lose);
        lost.a = static_cast<std::uint32_t>(*loss);
        lost.pattern = 1;
      }
      step(p, Op::sync);
    }
    return set_.run(deadline_ms);
  }

  float output(int rank, int cell) const {
    return reinterpret_cast<const float*>(outputs_[static_cast<std::size_t>(rank)]->base())[cell];
  }
  RankSet& set() { return set_; }

 private:
  static constexpr std::uint64_t kSpan = 1 << 16;

  static WorkerConfig config(const std::string& library) {
    WorkerConfig c;
    c.worker = ASSAY_WORKER;
    c.library = library;
    return c;
  }
  static std::vector<const Arena*> of(const std::vector<std::unique_ptr<Arena>>& arenas) {
    std::vector<const Arena*> list;
    for (const auto& a : arenas) list.push_back(a.get());
    return list;
  }
  static ProgramStep& step(Program& p, Op op) {
    ProgramStep& s = p.steps[p.step_count++];
    s = ProgramStep{};
    s.op = op;
    return s;
  }
  static void tensor(Program& p, ProgramStep& step, char kind, std::uint32_t arena) {
    ProgramTensor& t = p.tensors[p.tensor_count];
    t = ProgramTensor{};
    t.arena = arena;
    t.code = kDLFloat;
    t.bits = 32;
    t.rank = 2;
    t.shape[0] = 2;
    t.shape[1] = t.strides[0] = 3;
    t.strides[1] = 1;
    ProgramArgument& a = step.arguments[step.argument_count++];
    a = {};
    a.kind = kind;
    a.tensor = p.tensor_count++;
  }

  std::unique_ptr<MemoryDomain> memory_ = make_host_memory();
  std::vector<std::unique_ptr<Arena>> inputs_, outputs_;
  RankSet set_;
  std::uint32_t variant_ = 0;
};

const std::string kRight = ASSAY_HOST_KERNELS;

TEST(RankSet, EveryRankGetsTheSum) {
  for (const int world : {1, 2, 4}) {
    Stage stage(kRight, world);
    ASSERT_FALSE(stage.open());
    for (int again = 0; again < 3; ++again) {
      const RankSet::Run run = stage.run();
      ASSERT_FALSE(run.fault) << run.fault->text;
      ASSERT_EQ(run.failed, -1);
      for (int r = 0; r < world; ++r)
        for (int i = 0; i < 6; ++i) EXPECT_EQ(stage.output(r, i), static_cast<float>(world * (world + 1) / 2));
    }
    EXPECT_TRUE(stage.set().alive());
  }
}

TEST(RankSet, ExchangeSymmetricAndGatherGiveEveryRankWhatThePeersGave) {
  for (const int world : {1, 2, 3}) {
    Stage stage(ASSAY_GATHERS, world);
    const auto refused = stage.open();  // its init checks what it was given
    ASSERT_FALSE(refused) << refused->text;
    const RankSet::Run run = stage.run();
    ASSERT_FALSE(run.fault) << run.fault->text;
    for (int r = 0; r < world; ++r) {
      const ProgramResult& call = stage.set()[r].program().results[2];
      EXPECT_EQ(call.code, StepCode::ok) << call.text;
      for (int i = 0; i < 6; ++i) EXPECT_EQ(stage.output(r, i), static_cast<float>(world * (world + 1) / 2));
    }
  }
}

TEST(RankSet, ARankThatNeverCallsLeavesThePeersWaitingAndTheDeadlineSaysWho) {
  Stage stage(kRight, 3);
  ASSERT_FALSE(stage.open());
  const auto start = Clock::now();
  const RankSet::Run run = stage.run(300, 1);
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 2.0);
  ASSERT_TRUE(run.fault);
  EXPECT_EQ(name_of(run.fault->reason), "timeout");
  EXPECT_NE(run.fault->text.find("rank 0: "), std::string::npos) << run.fault->text;
  EXPECT_NE(run.fault->text.find("rank 1: finished"), std::string::npos) << run.fault->text;
  EXPECT_FALSE(stage.set().alive());
}

TEST(RankSet, ARankKilledFromOutsideEndsAllAndIsNobodysFault) {
  Stage stage(kRight, 2);
  ASSERT_FALSE(stage.open());
  std::thread killer([victim = *children().begin()] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    kill(victim, SIGKILL);
  });
  const auto start = Clock::now();
  const RankSet::Run run = stage.run(20000, 1);  // rank 0 waits for a call that never comes
  killer.join();
  ASSERT_TRUE(run.fault);
  EXPECT_EQ(name_of(run.fault->reason), "killed");
  EXPECT_EQ(name_of(run.fault->verdict), "NO_DECISION");
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 2.0) << "not the deadline, the death";
}

// In turns: it fails in its call, it exits in it, it is killed from outside while its peer waits for it.
TEST(RankSet, TwoHundredRanksLostInMidTrialLeaveNoProcessNoSegmentNoDescriptor) {
  { Stage warm_up(kRight, 2); }
  const std::size_t descriptors = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    {
      Stage stage(kRight, 2);
      ASSERT_FALSE(stage.open());
      ASSERT_FALSE(stage.run().fault) << "the run goes on after the last loss";
      for (int r = 0; r < 2; ++r) ASSERT_EQ(stage.output(r, 5), 3.0F);

      const int victim = i % 2, peer = 1 - victim;
      const auto how = static_cast<Loss>(i % 3);
      const auto pids = children();
      ASSERT_EQ(pids.size(), 2u);
      std::thread killer;
      if (how == Loss::hangs)
        killer = std::thread([&, pid = victim == 0 ? *pids.begin() : *pids.rbegin()] {
          while (stage.set()[peer].box().phase != Phase::peers) std::this_thread::yield();
          kill(pid, SIGKILL);
        });
      const auto start = Clock::now();
      const RankSet::Run run = stage.run(5000, victim, how);
      EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 4.0) << "not the deadline";
      if (killer.joinable()) killer.join();
      if (how == Loss::fails) {
        EXPECT_FALSE(run.fault) << run.fault->text;
        EXPECT_EQ(run.failed, victim);
      } else {
        ASSERT_TRUE(run.fault);
        EXPECT_EQ(name_of(run.fault->reason), how == Loss::exits ? "exit" : "killed") << run.fault->text;
        EXPECT_EQ(name_of(run.fault->verdict), how == Loss::exits ? "FAIL" : "NO_DECISION");
        // Numbers of processes that wrapped do not say who is who.
        if (*pids.rbegin() - *pids.begin() < 1000) {
          EXPECT_EQ(run.fault->rank, victim) << run.fault->text;
        }
      }
      EXPECT_FALSE(stage.set().alive());
    }
    ASSERT_TRUE(children().empty());
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(mapped_groups(), 0u);
}

}  // namespace
}  // namespace assay
