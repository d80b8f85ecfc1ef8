// looks_around_test.hpp: for tests of isolation: the candidate that looks around, in a folder of a test's own, and what
// it found. Who includes it: isolation_test.cc, isolation_levels_test.cc.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "harness/worker/confinement.hpp"
#include "harness/worker/isolation.hpp"
#include "harness/worker/stage_test.hpp"

namespace assay {

namespace fs = std::filesystem;
using Findings = std::multimap<std::string, std::string>;

inline std::shared_ptr<const Isolation> best() {
  static const auto isolation = Isolation::establish(ASSAY_WORKER, 0);
  return isolation;
}

#define SKIP_UNLESS_NAMESPACES()                                       \
  if (best()->level() != IsolationLevel::namespaces || geteuid() != 0) \
  GTEST_SKIP() << "needs root and namespaces; this machine gives: " << best()->text()

// A folder of a test's own, open to others as a build folder is, with a copy of a library in it.
class Folder {
 public:
  explicit Folder(const std::string& below = testing::TempDir(), mode_t mode = 0755) {
    path_ =
        (fs::path(below) / ("assay-isolation-" + std::to_string(getpid()) + "-" + std::to_string(count_++))).string();
    fs::create_directories(path_);
    chmod(path_.c_str(), mode);
    fs::copy_file(ASSAY_LOOKS_AROUND, library());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string library() const { return path_ + "/liblooks_around.so"; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  static inline int count_ = 0;
  std::string path_;
};

inline Findings findings_in(const std::string& output) {
  Findings found;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    if (const auto space = line.find(' '); space != std::string::npos)
      found.emplace(line.substr(0, space), line.substr(space + 1));
  return found;
}

enum class Action : std::int64_t { look = 1, attack = 2, damage = 3, daemon = 4, storm = 5 };

inline Findings act(Stage& stage, Action action, int deadline_ms = 20'000) {
  const auto fault = stage.call(kSilu, 1, static_cast<std::int64_t>(action), deadline_ms);
  EXPECT_FALSE(fault) << fault->text;
  return findings_in(stage.session().output());
}

inline std::string one(const Findings& found, const std::string& name) {
  EXPECT_EQ(found.count(name), 1u) << name;
  const auto at = found.find(name);
  return at == found.end() ? "absent" : at->second;
}

inline std::set<pid_t> processes_of(uid_t uid) {
  std::set<pid_t> pids;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    struct stat info = {};
    if (const int pid = std::atoi(entry.path().filename().c_str()); pid > 0 && stat(entry.path().c_str(), &info) == 0)
      if (info.st_uid == uid) pids.insert(pid);
  }
  return pids;
}

inline bool soon_gone(uid_t uid) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (!processes_of(uid).empty() && std::chrono::steady_clock::now() < until) usleep(1000);
  return processes_of(uid).empty();
}

inline uid_t user_of(const Isolation& isolation) {
  WorkerConfig config;
  config.worker = ASSAY_WORKER;
  return static_cast<uid_t>(isolation.confinement(config).uid);
}

// A storm of forks is over when its worker's end is seen, soon after the deadline.
inline void expect_storm_ends(const std::string& library, const std::shared_ptr<const Isolation>& isolation) {
  Stage stage(library, 0, isolation);
  ASSERT_FALSE(stage.load());
  const auto user = static_cast<uid_t>(std::stoul(one(act(stage, Action::look), "uid")));
  ASSERT_GE(user, 61184u);
  const auto fault = stage.call(kSilu, 1, static_cast<std::int64_t>(Action::storm), 1000);
  ASSERT_TRUE(fault);
  EXPECT_EQ(name_of(fault->reason), "timeout") << fault->text;
  EXPECT_TRUE(processes_of(user).empty());
}

}  // namespace assay
