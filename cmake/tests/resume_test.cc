// A run that is killed, or whose disk is full, and goes on with --resume: as if nothing had happened.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include "cmake/tests/program.hpp"
#include "harness/case/json.hpp"
#include "harness/receipt/receipt.hpp"

namespace assay {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// What a run came to, without what differs from run to run.
struct Outcome {
  std::string verdict, why;
  std::map<std::string, std::tuple<Verdict, Reason, std::int64_t, std::int64_t>> rules;
  std::map<std::string, std::string> cases;
  std::size_t failures = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

std::string who(const Subject& s) {
  return s.slot + " " + s.variant + " " + s.device + " " + s.dtype + " " + s.rule + " " + std::to_string(s.ranks);
}

Outcome outcome_of(const RunResults& results) {
  Outcome o;
  const EndRecord end = conclude(results);
  o.verdict = end.verdict;
  o.failures = results.failures.size();
  for (const RuleRecord& r : results.rules) o.rules[who(r.subject)] = {r.verdict, r.reason, r.judged, r.evidence};
  for (const CasesRecord& c : results.cases) o.cases[who(c.subject)] = canonical(to_json(c));
  return o;
}

// 10, or as many as the soak asks for.
int kills() {
  const char* asked = std::getenv("ASSAY_KILLS");
  return asked ? std::atoi(asked) : 10;
}

class Resume : public Program {
 protected:
  // Judges, killing everything of each process at a moment in its first `span`, until one gets to its end. Returns
  // how many were killed.
  int run_with_kills(const Words& begin, milliseconds span, std::mt19937_64& draw, int most_kills) {
    std::filesystem::remove_all(report());
    int killed = 0;
    Words words = begin;
    words.insert(words.end(), {"--resume", report()});
    for (;;) {
      const pid_t pid = start(words);
      if (killed < most_kills) {
        std::this_thread::sleep_for(std::chrono::duration_cast<std::chrono::microseconds>(span) *
                                    static_cast<int>(draw() % 1000) / 1000);
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
      }
      const int code = finish(pid);
      expect_nothing_left();
      if (code != -SIGKILL) {
        EXPECT_GE(code, 0);
        return killed;
      }
      ++killed;
      if (lines() > 0) {
        const RunResults read = read_results(results());
        EXPECT_TRUE(!read.has_run || read.has_end || conclude(read).exit_code == 3);
        if (read.has_run && draw() % 2) words = {"check", "--resume", report()};
      }
    }
  }
  void expect_as_uninterrupted(const Words& begin, milliseconds span, int rounds, int exit_code) {
    Words whole = begin;
    whole.insert(whole.end(), {"--report", folder + "/whole"});
    ASSERT_EQ(run(whole), exit_code) << out() << err();
    const Outcome expected = outcome_of(read_results(folder + "/whole/results.jsonl"));
    std::mt19937_64 draw(20261130);
    int killed = 0, resumed = 0;
    while (killed < rounds) {
      killed += run_with_kills(begin, span, draw, 1 + static_cast<int>(draw() % 3));
      const RunResults read = read_results(results());
      ASSERT_TRUE(read.has_end) << out() << err();
      resumed += static_cast<int>(read.resumes.size());
      ASSERT_EQ(outcome_of(read), expected) << "after " << killed << " kills: " << text_of(results()).size();
      ASSERT_EQ(run({"check", "--resume", report()}), exit_code) << "a run that has ended: " << err();
      EXPECT_NE(out().find("nothing is left to judge"), std::string::npos) << out();
    }
    std::printf("%d kills, %d of them resumed with lines on disk\n", killed, resumed);
    EXPECT_GT(resumed, 0);
  }
};

TEST_F(Resume, AKilledRunGoesOnToTheSameOutcome) {
  expect_as_uninterrupted({"check", ASSAY_HOST_KERNELS, "--slot", "activation.silu_and_mul", "--dtype", "fp32",
                           "--dtype", "bf16", "--jobs", "2"},
                          milliseconds(1500), kills(), 0);
}

#ifdef ASSAY_WRONG_KERNELS
TEST_F(Resume, AKilledRunOfAWrongLibraryFailsAsItWould) {
  expect_as_uninterrupted({"check", ASSAY_WRONG_KERNELS, "--dtype", "fp32", "--dtype", "fp16", "--jobs", "1"},
                          milliseconds(2500), 2, 1);
}
#endif

TEST_F(Resume, AKilledGateEndsWithTheVerdictThatItWouldHaveHad) {
  const Words gate = {"check", ASSAY_FP32_ONLY, "--gate", "--dtype", "fp32", "--jobs", "2"};
  Words whole = gate;
  whole.insert(whole.end(), {"--report", folder + "/whole"});
  ASSERT_EQ(run(whole), 0) << out() << err();
  std::mt19937_64 draw(7);
  const int killed = run_with_kills(gate, milliseconds(1500), draw, 2);
  const auto verdict = [&](const std::string& at) {
    return parse_strict(text_of(at + "/verdict.json"), "verdict.json");
  };
  EXPECT_EQ(verdict(report()).at("reproducible_digest"), verdict(folder + "/whole").at("reproducible_digest"));
  EXPECT_EQ(run({"verdict", "verify", report()}), 0) << err();
  // Killed between its end line and its verdict: the verdict is made from what lies there.
  std::filesystem::remove(report() + "/verdict.json");
  EXPECT_EQ(run({"check", "--resume", report()}), 0) << err();
  EXPECT_EQ(run({"verdict", "verify", report()}), 0) << err() << killed;
}

TEST_F(Resume, AnotherLibraryOtherOptionsAndNoRunAreRefused) {
  EXPECT_EQ(run({"check", "--resume", report()}), 2);
  EXPECT_NE(err().find("holds no run to go on with"), std::string::npos) << err();
  const std::string library = folder + "/libmine.so";
  std::filesystem::copy_file(ASSAY_FP32_ONLY, library);
  const pid_t pid = start({"check", library, "--tier", "full", "--report", report()});
  const auto patience = steady_clock::now() + std::chrono::seconds(60);
  while (lines() < 5 && steady_clock::now() < patience) std::this_thread::sleep_for(milliseconds(5));
  kill(-pid, SIGKILL);
  finish(pid);
  const std::string before = text_of(results());
  EXPECT_EQ(run({"check", library, "--resume", report()}), 2);
  EXPECT_NE(err().find("--tier full --seed 0`: give the same options"), std::string::npos) << err();
  EXPECT_EQ(run({"check", "--seed", "1", "--resume", report()}), 2);
  EXPECT_EQ(run({"check", library, "--tier", "full", "--report", report(), "--resume", report()}), 2);
  std::filesystem::copy_file(ASSAY_HOST_KERNELS, library, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(run({"check", "--resume", report()}), 2);
  EXPECT_NE(err().find("the run had library_name"), std::string::npos) << err();
  EXPECT_EQ(text_of(results()).substr(0, before.rfind('\n')), before.substr(0, before.rfind('\n')))
      << "what is refused changes nothing";
  std::ofstream(results(), std::ios::app) << "{}\n{}\n";
  EXPECT_EQ(run({"check", "--resume", report()}), 2);
  EXPECT_NE(err().find("no run can go on from there"), std::string::npos) << err();
}

// A folder that is full, or that nobody may write into, whoever he is.
class Disk : public Resume {
 protected:
  void SetUp() override {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      GTEST_SKIP() << "this machine does not let a test mount";
    std::filesystem::create_directories(report());
  }
  void TearDown() override { umount2(report().c_str(), MNT_DETACH); }
};

TEST_F(Disk, FullInMidRunIsNoDecisionAndWhatWasWrittenIsGoneOnWith) {
  const Words begin = {"check", ASSAY_HOST_KERNELS, "--slot", "activation.silu_and_mul", "--jobs", "2"};
  ASSERT_EQ(mount("assay-test", report().c_str(), "tmpfs", 0, "size=256k"), 0);
  Words words = begin;
  words.insert(words.end(), {"--report", report()});
  EXPECT_EQ(run(words), 3) << out();
  EXPECT_NE(out().find("NO_DECISION: cannot write to " + results() + ": No space left on device"), std::string::npos)
      << out();
  expect_nothing_left();
  const RunResults read = read_results(results());
  EXPECT_TRUE(read.has_run && !read.has_end);
  EXPECT_GT(read.trials, 100);
  EXPECT_EQ(run({"check", "--resume", report()}), 3) << "it is full still: " << out();
  EXPECT_NE(out().find("No space left on device"), std::string::npos) << out() << err();
  ASSERT_EQ(mount("assay-test", report().c_str(), nullptr, MS_REMOUNT, "size=64m"), 0);
  EXPECT_EQ(run({"check", "--resume", report()}), 0) << out() << err();
  words.back() = folder + "/whole";
  ASSERT_EQ(run(words), 0) << err();
  EXPECT_EQ(outcome_of(read_results(results())), outcome_of(read_results(folder + "/whole/results.jsonl")));
}

TEST_F(Disk, AReadOnlyFolderIsRefusedBeforeAnythingIsJudged) {
  ASSERT_EQ(mount(report().c_str(), report().c_str(), nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(mount(nullptr, report().c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), 0);
  for (const Words& words : {Words{"check", ASSAY_FP32_ONLY, "--report", report()},
                             Words{"check", ASSAY_FP32_ONLY, "--report", report() + "/deeper"}}) {
    EXPECT_EQ(run(words), 2) << out();
    const std::string sentence = err();
    EXPECT_EQ(std::count(sentence.begin(), sentence.end(), '\n'), 1) << sentence;
    EXPECT_NE(sentence.find(words.back()), std::string::npos) << sentence;
    EXPECT_EQ(out(), "");
  }
}

}  // namespace
}  // namespace assay
