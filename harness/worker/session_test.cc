// Real worker processes with candidates that misbehave: what the judge makes of each, how fast, and what is left.
#include "harness/worker/session.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <vector>

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

const std::string kRight = ASSAY_HOST_KERNELS;

std::set<pid_t> children() {
  std::set<pid_t> pids;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (pid_t pid; list >> pid;) pids.insert(pid);
  }
  return pids;
}

[[maybe_unused]] std::size_t open_descriptors() {
  const auto list = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(list), end(list)));
}

std::string environment_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// One worker with two lent arenas and a program of one call in fp32, all inputs 1.
class Stage {
 public:
  explicit Stage(const std::string& library, std::uint64_t data_limit = 0)
      : memory_(make_host_memory()),
        inputs_(memory_->create({kSpan, {{0, kSpan}}})),
        outputs_(memory_->create({kSpan, {{0, kSpan}}})),
        session_(config(library, data_limit)) {}

  std::optional<Fault> load() {
    if (auto fault = session_.open_device()) return fault;
    if (auto fault = session_.load()) return fault;
    if (auto fault = session_.map(0, *inputs_, Access::read_only)) return fault;
    return session_.map(1, *outputs_, Access::read_write);
  }

  std::uint32_t variant_of(const std::string& slot) {
    const auto table = nlohmann::json::parse(session_.description()).at("variants");
    for (std::size_t i = 0; i < table.size(); ++i)
      if (table[i].dump().find(slot) != std::string::npos) return static_cast<std::uint32_t>(i);
    throw std::runtime_error("no variant of " + slot);
  }

  // silu: x (rows, 2 width), out (rows, width); norm: x (rows, width), weight (width), out (rows, width).
  std::optional<Fault> call(const std::string& slot, std::int64_t rows, std::int64_t width, int deadline_ms = 2000) {
    const bool norm = slot == "norm.rmsnorm";
    Program& p = session_.program();
    p.step_count = p.tensor_count = p.done = 0;
    step(Op::reset);
    ProgramStep& call = step(Op::call);
    call.a = variant_of(slot);
    tensor(call, 'i', 0, 0, {rows, norm ? width : 2 * width});
    if (norm) tensor(call, 'i', 0, kSpan / 2, {width});
    tensor(call, 'o', 1, 0, {rows, width});
    if (norm) {
      call.arguments[call.argument_count] = {};
      call.arguments[call.argument_count].kind = 'd';
      call.arguments[call.argument_count++].real = 1e-6;
    }
    step(Op::sync);
    auto* x = reinterpret_cast<float*>(inputs_->base());
    std::fill(x, x + kSpan / sizeof(float), 1.0F);
    auto* out = reinterpret_cast<float*>(outputs_->base());
    std::fill(out, out + kSpan / sizeof(float), -7.0F);
    return session_.run(deadline_ms);
  }

  ProgramResult& call_result() { return session_.program().results[1]; }
  float output(std::int64_t cell) const { return reinterpret_cast<const float*>(outputs_->base())[cell]; }
  WorkerSession& session() { return session_; }

 private:
  static constexpr std::uint64_t kSpan = 1 << 20;

  static WorkerConfig config(const std::string& library, std::uint64_t data_limit) {
    WorkerConfig c;
    c.worker = ASSAY_WORKER;
    c.library = library;
    c.data_limit = data_limit;
    return c;
  }
  ProgramStep& step(Op op) {
    Program& p = session_.program();
    ProgramStep& s = p.steps[p.step_count++];
    s = ProgramStep{};
    s.op = op;
    return s;
  }
  void tensor(ProgramStep& step, char kind, std::uint32_t arena, std::uint64_t offset, const Extents& shape) {
    Program& p = session_.program();
    ProgramTensor& t = p.tensors[p.tensor_count];
    t = ProgramTensor{};
    t.arena = arena;
    t.offset = offset;
    t.code = kDLFloat;
    t.bits = 32;
    t.rank = static_cast<std::int32_t>(shape.size());
    const Extents strides = contiguous_strides(shape);
    std::copy(shape.begin(), shape.end(), t.shape);
    std::copy(strides.begin(), strides.end(), t.strides);
    ProgramArgument& a = step.arguments[step.argument_count++];
    a = {};
    a.kind = kind;
    a.tensor = p.tensor_count++;
  }

  std::unique_ptr<MemoryDomain> memory_;
  std::unique_ptr<Arena> inputs_, outputs_;
  WorkerSession session_;
};

constexpr const char* kSilu = "activation.silu_and_mul";
constexpr const char* kNorm = "norm.rmsnorm";
const float kSiluOfOne = static_cast<float>(1.0 / (1.0 + std::exp(-1.0)));

[[maybe_unused]] void expect_works() {
  Stage stage(kRight);
  ASSERT_FALSE(stage.load());
  const auto fault = stage.call(kSilu, 3, 5);
  ASSERT_FALSE(fault) << fault->text;
  EXPECT_EQ(stage.call_result().code, StepCode::ok);
  for (int i = 0; i < 15; ++i) EXPECT_NEAR(stage.output(i), kSiluOfOne, 1e-6F);
  EXPECT_EQ(stage.output(15), -7.0F);
}

#ifdef ASSAY_FAULTY  // absent from asan builds

std::string faulty(const std::string& stem) { return std::string(ASSAY_FAULTY) + "/" + stem + ".so"; }

struct Misdeed {
  const char* stem;
  std::int64_t rows, width;
  Reason reason;
  Phase phase;
  int deadline_ms = 2000;
  std::uint64_t data_limit = 0;
};

class Misbehaving : public ::testing::TestWithParam<Misdeed> {};

TEST_P(Misbehaving, IsBlamedInTimeAndLeavesNothingBehind) {
  const Misdeed& m = GetParam();
  const std::string slot = std::string(m.stem).rfind("silu", 0) == 0 ? kSilu : kNorm;
  const std::size_t before = open_descriptors();
  {
    Stage stage(faulty(m.stem), m.data_limit);
    ASSERT_FALSE(stage.load());
    const auto start = Clock::now();
    const auto fault = stage.call(slot, m.rows, m.width, m.deadline_ms);
    const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
    ASSERT_TRUE(fault);
    EXPECT_EQ(name_of(fault->verdict), "FAIL") << fault->text;
    EXPECT_EQ(name_of(fault->reason), name_of(m.reason)) << fault->text;
    EXPECT_EQ(name_of(fault->phase), name_of(m.phase)) << fault->text;
    EXPECT_FALSE(stage.session().alive());
    const bool hangs = m.reason == Reason::timeout;
    EXPECT_GE(took, hangs ? m.deadline_ms : 0);
    EXPECT_LT(took, hangs ? m.deadline_ms + 1000 : 2000) << "death is seen, not waited for";
    EXPECT_TRUE(children().empty()) << "a dead worker is reaped at once";
  }
  EXPECT_EQ(open_descriptors(), before);
  expect_works();
  EXPECT_TRUE(children().empty());
}

const Misdeed kMisdeeds[] = {
    {"silu_segfaults_in_entry", 8, 64, Reason::crash, Phase::entry},
    {"norm_segfaults_in_kernel", 8, 65, Reason::crash, Phase::host_kernel},
    {"silu_hangs_in_entry", 3, 4, Reason::timeout, Phase::entry, 300},
    {"norm_hangs_in_kernel", 3, 4, Reason::timeout, Phase::host_kernel, 300},
    {"norm_exits", 1, 4, Reason::exit, Phase::entry},
    {"silu_aborts", 1, 4, Reason::crash, Phase::entry},
    {"norm_throws", 1, 4, Reason::crash, Phase::entry},
    {"norm_stack_overflow", 1, 4, Reason::crash, Phase::entry},
    {"norm_closes_descriptors", 1, 4, Reason::descriptors, Phase::after_entry},
    {"silu_forks", 1, 4, Reason::forked, Phase::after_entry},
    {"silu_writes_input", 2, 4, Reason::device_fault, Phase::host_kernel},
    {"silu_exhausts_memory", 1, 4, Reason::out_of_memory, Phase::entry, 2000, 512ULL << 20},
};
INSTANTIATE_TEST_SUITE_P(Candidates, Misbehaving, ::testing::ValuesIn(kMisdeeds),
                         [](const auto& each) { return std::string(each.param.stem); });

TEST(Session, AFaultNamesTheByteOfTheReadOnlyInputThatWasWritten) {
  Stage stage(faulty("silu_writes_input"));
  ASSERT_FALSE(stage.load());
  const auto fault = stage.call(kSilu, 2, 4);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->arena, 0);
  EXPECT_EQ(fault->offset, 0u);
  EXPECT_EQ(fault->step, 2u) << "the kernel ran when the stream was synchronised";
}

TEST(Session, AStackOverflowSaysSo) {
  Stage stage(faulty("norm_stack_overflow"));
  ASSERT_FALSE(stage.load());
  const auto fault = stage.call(kNorm, 1, 4);
  ASSERT_TRUE(fault);
  EXPECT_NE(fault->text.find("stack overflow"), std::string::npos) << fault->text;
}

TEST(Session, ACrashWhileLoadingIsALoadCrash) {
  Stage stage(faulty("norm_crashes_at_load"));
  const auto fault = stage.load();
  ASSERT_TRUE(fault);
  EXPECT_EQ(name_of(fault->reason), "load_crash");
  EXPECT_EQ(name_of(fault->verdict), "FAIL");
  EXPECT_TRUE(children().empty());
}

TEST(Session, DeathAfterTheCallHasReturnedIsNotBlamedOnOneRun) {
  Stage stage(faulty("norm_dies_after_return"));
  ASSERT_FALSE(stage.load());
  auto fault = stage.call(kNorm, 1, 4);
  const auto until = Clock::now() + milliseconds(2000);
  while (!fault && Clock::now() < until) {
    usleep(5000);  // the alarm rings two milliseconds after the call, between two programs
    fault = stage.call(kNorm, 0, 4);
  }
  ASSERT_TRUE(fault);
  EXPECT_EQ(name_of(fault->verdict), "NO_DECISION") << fault->text;
  EXPECT_EQ(name_of(fault->reason), "harness") << fault->text;
}

TEST(Session, AStatusOtherThanOkIsAResultAndNoFault) {
  Stage stage(faulty("norm_unsupported_in_domain"));
  ASSERT_FALSE(stage.load());
  ASSERT_FALSE(stage.call(kNorm, 1, 2049));
  EXPECT_EQ(stage.call_result().code, StepCode::entry_failed);
  EXPECT_EQ(stage.call_result().status, ASSAY_UNSUPPORTED);
  EXPECT_EQ(stage.session().program().results[2].code, StepCode::not_run) << "the program ends at a failed step";
  ASSERT_FALSE(stage.call(kNorm, 1, 64));
  EXPECT_EQ(stage.call_result().code, StepCode::ok);
}

TEST(Session, AKillInTheMiddleOfACallDecidesNothing) {
  Stage stage(faulty("norm_hangs_in_kernel"));
  ASSERT_FALSE(stage.load());
  const pid_t worker = *children().begin();
  std::thread killer([worker] {
    usleep(100'000);
    kill(worker, SIGKILL);
  });
  const auto fault = stage.call(kNorm, 3, 4, 5000);
  killer.join();
  ASSERT_TRUE(fault);
  EXPECT_EQ(name_of(fault->reason), "killed") << fault->text;
}

#endif  // ASSAY_FAULTY

TEST(Session, FiftyWorkersLeakNeitherDescriptorsNorProcesses) {
#ifdef ASSAY_FAULTY
  const std::string dies = faulty("silu_aborts");
#else
  const std::string dies;
#endif
  expect_works();
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 50; ++i) {
    const bool wrong = i % 2 == 1 && !dies.empty();
    Stage stage(wrong ? dies : kRight);
    ASSERT_FALSE(stage.load());
    EXPECT_EQ(stage.call(kSilu, 2, 3).has_value(), wrong);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(children().empty());
}

TEST(Session, ARightCandidateWorksAndKeepsWorkingInOneWorker) {
  Stage stage(kRight);
  ASSERT_FALSE(stage.load());
  for (std::int64_t rows = 1; rows <= 20; ++rows) {
    ASSERT_FALSE(stage.call(kNorm, rows, 33));
    EXPECT_EQ(stage.call_result().code, StepCode::ok) << stage.call_result().text;
    EXPECT_EQ(stage.call_result().binding, 0u);
    EXPECT_NEAR(stage.output(rows * 33 - 1), 1.0F, 1e-5F);
    EXPECT_EQ(stage.output(rows * 33), -7.0F);
  }
  EXPECT_TRUE(stage.session().alive());
}

TEST(Session, AKillFromOutsideDecidesNothing) {
  Stage stage(kRight);
  ASSERT_FALSE(stage.load());
  ASSERT_EQ(children().size(), 1u);
  kill(*children().begin(), SIGKILL);
  const auto fault = stage.call(kSilu, 1, 4);
  ASSERT_TRUE(fault);
  EXPECT_EQ(name_of(fault->verdict), "NO_DECISION");
  EXPECT_EQ(name_of(fault->reason), "killed");
}

TEST(Session, TheWorkersEnvironmentLiesAboutRanksAndHoldsNothingElseOfOurs) {
  setenv("ASSAY_TEST_SECRET", "1", 1);
  setenv("RANK", "0", 1);
  Stage stage(kRight);
  unsetenv("ASSAY_TEST_SECRET");
  unsetenv("RANK");
  ASSERT_FALSE(stage.load());
  const std::string env = environment_of(*children().begin());
  for (const char* lie : {"RANK=5", "LOCAL_RANK=3", "WORLD_SIZE=7", "SLURM_PROCID=4", "OMPI_COMM_WORLD_RANK=6"})
    EXPECT_NE(env.find(std::string(1, '\0') + lie + std::string(1, '\0')), std::string::npos) << lie;
  EXPECT_EQ(env.find("ASSAY_TEST_SECRET"), std::string::npos);
  EXPECT_EQ(env.find(std::string(1, '\0') + "RANK=0"), std::string::npos);
}

TEST(Session, AProgramThatIsNoWorkerIsUnavailableWithASentence) {
  for (const char* program : {"/nowhere/assay-worker", "/bin/true", "/bin/echo"}) {
    WorkerConfig config;
    config.worker = program;
    config.library = kRight;
    const auto start = Clock::now();
    try {
      WorkerSession session(config);
      ADD_FAILURE() << program << " was taken for a worker";
    } catch (const WorkerUnavailable& error) {
      EXPECT_NE(std::string(error.what()).find(program), std::string::npos) << error.what();
    }
    EXPECT_LT(Clock::now() - start, milliseconds(2000)) << program << " had ended long before";
  }
  EXPECT_TRUE(children().empty());
}

TEST(Session, ALibraryThatIsNoneIsRefusedWithACode) {
  const auto code_of = [](const std::string& path) -> std::string {
    Stage stage(path);
    try {
      (void)stage.load();
      return "loaded";
    } catch (const LibraryRefused& refused) {
      EXPECT_NE(std::string(refused.what()).find(path), std::string::npos) << refused.what();
      return refused.code();
    }
  };
  EXPECT_EQ(code_of("/nowhere/lib.so"), "no_file");
  EXPECT_EQ(code_of("/proc/version"), "not_loadable");
#ifdef ASSAY_FAULTY
  EXPECT_EQ(code_of(faulty("no_symbol")), "no_symbol");
#endif
}

TEST(Session, AWorkerGoesWhenItsJudgeDoes) {
  pid_t worker = 0;
  {
    Stage stage(kRight);
    ASSERT_FALSE(stage.load());
    worker = *children().begin();
    EXPECT_EQ(kill(worker, 0), 0);
  }
  EXPECT_NE(kill(worker, 0), 0);
  EXPECT_TRUE(children().empty());
}

}  // namespace
}  // namespace assay
