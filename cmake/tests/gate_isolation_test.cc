// `assay check --gate` as its user meets it: what is said of isolation, what is refused, that its replays work.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "harness/result/records.hpp"

namespace assay {
namespace {

struct Finished {
  int code = -1;
  std::string said;  // both streams
};

Finished shell(const std::string& command) {
  Finished f;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> chunk;
  for (std::size_t n; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) f.said.append(chunk.data(), n);
  const int status = pclose(pipe);
  f.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return f;
}

class GateIsolation : public testing::Test {
 protected:
  GateIsolation() {
    std::string name = testing::TempDir() + "gate-XXXXXX";
    folder = mkdtemp(name.data());
  }
  ~GateIsolation() override { std::filesystem::remove_all(folder); }
  [[nodiscard]] Finished check(const std::string& words) const {
    return shell(std::string(ASSAY_PROGRAM) + " check " + words + " --report " + folder + "/report");
  }
  [[nodiscard]] RunResults results() const { return read_results(folder + "/report/results.jsonl"); }

  std::string folder;
};

const std::string kOne = std::string(ASSAY_FP32_ONLY) + " --dtype fp32";
// A gate judges all rules; of one it decides nothing, quickly.
constexpr int kOneRule = 3;

// In a container that forbids namespaces: below another root, without CAP_SYS_ADMIN.
std::string contained(const std::string& command, const std::string& root) {
  return "unshare -m sh -c 'mkdir -p " + root + " && mount --rbind / " + root +
         " && exec setpriv --bounding-set -sys_admin chroot " + root + " " + command + "'";
}

TEST_F(GateIsolation, TheLevelIsInTheRunLineAndInTheFirstLines) {
  const Finished gate = check(kOne + " --rule write.every_cell --gate");
  EXPECT_EQ(gate.code, kOneRule) << gate.said;
  EXPECT_EQ(name_of(results().rules.at(0).verdict), "PASS");
  const std::string isolation = results().run.isolation;
  EXPECT_NE(gate.said.substr(0, gate.said.find("1 of 1")).find("isolation: " + isolation + "\n"), std::string::npos)
      << gate.said;
  EXPECT_EQ(results().run.tier, "gate");
  EXPECT_NE(results().run.command.find(" --gate"), std::string::npos) << results().run.command;
  const std::string level = isolation.substr(0, isolation.find(':'));
  EXPECT_TRUE(level == "namespaces" || level == "user" || level == "trusting") << isolation;
}

TEST_F(GateIsolation, ARelativePathIsTheCallersAndIsPrintedAsGiven) {
  const std::filesystem::path library = ASSAY_FP32_ONLY;
  for (const std::string& path : {library.filename().string(), "../" + library.parent_path().filename().string() + "/" +
                                                                   library.filename().string()}) {
    const Finished gate = shell("cd " + library.parent_path().string() + " && " + ASSAY_PROGRAM + " check " + path +
                                " --dtype fp32 --rule write.every_cell --gate --report " + folder + "/report");
    EXPECT_EQ(gate.code, kOneRule) << gate.said;
    EXPECT_EQ(name_of(results().rules.at(0).verdict), "PASS");
    EXPECT_NE(results().run.command.find(path), std::string::npos) << results().run.command;
    EXPECT_EQ(results().run.command.find(library.parent_path().string()), std::string::npos) << results().run.command;
  }
}

TEST_F(GateIsolation, WithoutItWorkersAreTrusted) {
  EXPECT_EQ(check(kOne + " --rule write.every_cell --tier gate").code, 0);
  EXPECT_EQ(results().run.isolation, "trusting");
}

TEST_F(GateIsolation, WordsThatDoNotFitAreRefused) {
  for (const auto& [words, sentence] : {std::pair(" --require-isolation user", "--gate"),
                                        {" --gate --require-isolation all", "'all' is no isolation level"},
                                        {" --gate --tier full", "--tier"},
                                        {" --gate --in-process", "--in-process"}}) {
    const Finished refused = check(kOne + words);
    EXPECT_EQ(refused.code, 2) << words;
    EXPECT_NE(refused.said.find(sentence), std::string::npos) << refused.said;
  }
}

TEST_F(GateIsolation, LessIsolationThanRequiredIsRefusedBeforeAnythingIsJudged) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to forbid namespaces";
  if (shell(contained("true", folder + "/root")).code != 0)
    GTEST_SKIP() << "needs unshare, setpriv and a mount namespace";
  const std::string command = std::string(ASSAY_PROGRAM) + " check " + kOne +
                              " --rule write.every_cell --gate --report " + folder + "/report --require-isolation ";
  const Finished refused = shell(contained(command + "namespaces", folder + "/root"));
  EXPECT_EQ(refused.code, 3) << refused.said;
  EXPECT_EQ(refused.said.rfind("assay: --require-isolation namespaces: this machine gives user: ", 0), 0u)
      << refused.said;
  EXPECT_NE(refused.said.find("Operation not permitted"), std::string::npos) << refused.said;
  EXPECT_FALSE(std::filesystem::exists(folder + "/report"));
  const Finished judged = shell(contained(command + "user", folder + "/root"));
  EXPECT_EQ(judged.code, kOneRule) << judged.said;
  EXPECT_EQ(name_of(results().rules.at(0).verdict), "PASS");
  EXPECT_EQ(results().run.isolation.rfind("user: ", 0), 0u) << results().run.isolation;
}

TEST_F(GateIsolation, TestsOfACandidateAreGatedByTheirEnvironment) {
  const std::string words = kOne + " --rule write.every_cell --tier quick --gate-if ASSAY_GATE";
  const auto tier_with = [&](const char* value) {
    setenv("ASSAY_GATE", value, 1);
    const Finished done = check(words);
    unsetenv("ASSAY_GATE");
    return done.code == 2 ? done.said : results().run.tier;
  };
  EXPECT_EQ(tier_with("1"), "gate");
  EXPECT_EQ(tier_with("0"), "quick");
  EXPECT_EQ(tier_with(""), "quick");
  EXPECT_NE(tier_with("yes").find("'yes' is none of"), std::string::npos);
}

#ifdef ASSAY_WRONG_KERNELS  // absent from asan builds
TEST_F(GateIsolation, AFailuresReplayIsGatedToo) {
  const Finished gate = check(std::string(ASSAY_WRONG_KERNELS) + " --dtype fp32 --rule number.reference --gate");
  EXPECT_EQ(gate.code, 1) << gate.said;
  const RunResults read = results();
  ASSERT_FALSE(read.failures.empty());
  EXPECT_NE(read.failures.front().replay.find(" --gate"), std::string::npos) << read.failures.front().replay;
  const Finished replayed = shell(read.failures.front().replay);
  EXPECT_EQ(replayed.code, 1) << replayed.said;
  EXPECT_EQ(replayed.said.rfind("isolation: " + read.run.isolation, 0), 0u) << replayed.said;
}
#endif

}  // namespace
}  // namespace assay
