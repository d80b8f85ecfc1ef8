// Real worker processes with candidates that misbehave: what the judge makes of each, how fast, and what is left.
#include "harness/worker/session.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "harness/worker/stage_test.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::string environment_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

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

TEST(Session, AProgramThatFailsInACaptureLeavesNoneOpen) {
  Stage stage(kRight);
  ASSERT_FALSE(stage.load());
  ASSERT_FALSE(stage.run_steps({Op::reset, Op::begin_capture, Op::launch}));
  EXPECT_EQ(stage.code(1), StepCode::ok);
  EXPECT_NE(stage.code(2), StepCode::ok) << "there is no graph";
  ASSERT_FALSE(stage.run_steps({Op::begin_capture}));
  EXPECT_EQ(stage.code(0), StepCode::ok) << "the stream captures no more";
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
