// program.hpp: the assay program as a test starts it: in a process group of its own, with a folder for what it writes.
//
// Who calls it: cmake/tests/*_test.cc.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "harness/result/records.hpp"

extern char** environ;

namespace assay {

using Words = std::vector<std::string>;
using std::chrono::steady_clock;

inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The program in a process group of its own, with a folder for what it writes.
class Program : public testing::Test {
 protected:
  Program() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a killed judge leaves behind becomes a child of this test
    std::string name = testing::TempDir() + "assay-program-XXXXXX";
    folder = mkdtemp(name.data());
  }
  ~Program() override { std::filesystem::remove_all(folder); }

  pid_t start(Words words) const {
    words.insert(words.begin(), ASSAY_PROGRAM);
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, (folder + "/out").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    posix_spawn_file_actions_addopen(&files, 2, (folder + "/err").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    posix_spawnattr_t group;
    posix_spawnattr_init(&group);
    posix_spawnattr_setflags(&group, POSIX_SPAWN_SETPGROUP);
    pid_t pid = -1;
    EXPECT_EQ(posix_spawn(&pid, ASSAY_PROGRAM, &files, &group, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&group);
    return pid;
  }
  // Exit code, or the negative signal.
  static int finish(pid_t pid) {
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int run(Words words) const { return finish(start(std::move(words))); }
  [[nodiscard]] std::string out() const { return text_of(folder + "/out"); }
  [[nodiscard]] std::string err() const { return text_of(folder + "/err"); }

  // A run that is long enough to be stopped, once some of its lines are on disk.
  pid_t start_long_run(const char* tier = "gate") const {
    const pid_t pid = start({"check", ASSAY_HOST_KERNELS, "--slot", "norm.rmsnorm", "--slot", "activation.silu_and_mul",
                             "--tier", tier, "--jobs", "2", "--report", report()});
    const auto patience = steady_clock::now() + std::chrono::seconds(60);
    while (lines() < 40 && steady_clock::now() < patience) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_GE(lines(), 40) << err();
    return pid;
  }
  [[nodiscard]] std::string report() const { return folder + "/report"; }
  [[nodiscard]] std::string results() const { return report() + "/results.jsonl"; }
  [[nodiscard]] std::ptrdiff_t lines() const {
    const std::string text = text_of(results());
    return std::count(text.begin(), text.end(), '\n');
  }

  void expect_readable_and_undecided() const {
    const std::ptrdiff_t finished = lines();
    const RunResults read = read_results(results());
    EXPECT_GE(read.trials + static_cast<std::ptrdiff_t>(read.rules.size() + read.cases.size()) + 1, finished);
    EXPECT_TRUE(read.has_run);
    EXPECT_FALSE(read.has_end);
    EXPECT_EQ(conclude(read).verdict, "NO_DECISION");
    EXPECT_EQ(conclude(read).exit_code, 3);
  }
  // Judges and workers are reaped by us, the subreaper, once their parents are gone.
  static void expect_nothing_left() {
    const auto patience = steady_clock::now() + std::chrono::seconds(20);
    while (steady_clock::now() < patience) {
      const pid_t pid = waitpid(-1, nullptr, WNOHANG);
      if (pid < 0) return;
      if (pid == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    FAIL() << "judges or workers are still running";
  }

  std::string folder;
};

}  // namespace assay
