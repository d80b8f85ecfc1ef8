// Workers at the highest level of isolation: what they see, what they can do, how they end.
#include "harness/worker/isolation.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "harness/device/owned_fd.hpp"
#include "harness/worker/looks_around_test.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

TEST(IsolationLevel, AreOrderedAndReadBack) {
  EXPECT_LT(IsolationLevel::in_process, IsolationLevel::trusting);
  EXPECT_LT(IsolationLevel::trusting, IsolationLevel::user);
  EXPECT_LT(IsolationLevel::user, IsolationLevel::namespaces);
  for (const char* name : {"in-process", "trusting", "user", "namespaces"})
    EXPECT_EQ(name_of(isolation_level_from(name)), name);
  EXPECT_THROW((void)isolation_level_from("namespace"), std::invalid_argument);
}

TEST(Isolation, SaysWhatItIsMadeOfAndWhatIsMissing) {
  const std::string text = best()->text();
  EXPECT_EQ(text.rfind(name_of(best()->level()), 0), 0u) << text;
  EXPECT_EQ(best()->missing().empty(), best()->level() == IsolationLevel::namespaces) << text;
  EXPECT_EQ(best()->confines(), text.find("no_new_privs") != std::string::npos) << text;
}

TEST(Isolation, WithoutASupervisorNothingIsIsolatedAndTheReasonIsSaid) {
  const auto none = Isolation::establish("/nowhere/assay-worker", 0);
  EXPECT_EQ(none->level(), IsolationLevel::trusting);
  EXPECT_NE(none->missing().find("/nowhere/assay-worker"), std::string::npos) << none->missing();
}

TEST(Isolation, TwoAtOnceNeverShareAUser) {
  SKIP_UNLESS_NAMESPACES();
  std::set<uid_t> users;
  std::vector<std::shared_ptr<const Isolation>> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(Isolation::establish(ASSAY_WORKER, 0));
    users.insert(user_of(*held.back()));
  }
  EXPECT_EQ(users.size(), 4u);
  for (const uid_t user : users) {
    EXPECT_GE(user, 61184u);
    EXPECT_LE(user, 65519u);
  }
}

TEST(Isolation, AWorkerIsAnotherUserWithoutPrivileges) {
  SKIP_UNLESS_NAMESPACES();
  const Folder folder;
  Stage stage(folder.library(), usual_data_limit(), best());
  ASSERT_FALSE(stage.load());
  const Findings seen = act(stage, Action::look);
  const std::string user = std::to_string(user_of(*best()));
  for (const char* id : {"uid", "real_uid", "gid"}) EXPECT_EQ(one(seen, id), user) << id;
  EXPECT_EQ(one(seen, "groups"), "0");
  EXPECT_EQ(one(seen, "no_new_privs"), "1");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"})
    EXPECT_EQ(one(seen, set), "0000000000000000") << set;
  EXPECT_EQ(one(seen, "core"), "0");
  for (const char* limit : {"nproc", "fsize", "nofile", "stack"}) EXPECT_NE(one(seen, limit), "-1") << limit;
  EXPECT_EQ(one(seen, "group"), one(seen, "pid"));
#ifndef ASSAY_NO_REFUSALS
  EXPECT_EQ(one(seen, "data"), std::to_string(usual_data_limit()));
#endif
}

TEST(Isolation, AWorkerSeesItsOwnProcessesFilesAndLoopbackOnly) {
  SKIP_UNLESS_NAMESPACES();
  const Folder folder;
  Stage stage(folder.library(), 0, best());
  ASSERT_FALSE(stage.load());
  const Findings seen = act(stage, Action::look);
  EXPECT_EQ(one(seen, "descriptors"), "0,1,2,3,4,5,");
  EXPECT_EQ(one(seen, "interfaces"), "lo,");
  EXPECT_EQ(one(seen, "directory"), "/tmp");
  EXPECT_EQ(one(seen, "run").find("systemd"), std::string::npos);
  EXPECT_EQ(one(seen, "dev").find("vda"), std::string::npos);
  EXPECT_NE(one(seen, "dev").find("null"), std::string::npos);
  EXPECT_EQ(one(seen, "pid"), std::to_string(stage.session().pid()))
      << "what it says of itself is what the judge knows";
  EXPECT_EQ(one(seen, "parent_environ"), "");
}

TEST(Isolation, TheEnvironmentIsAWrittenList) {
  SKIP_UNLESS_NAMESPACES();
  const Folder folder;
  setenv("ASSAY_TEST_SECRET", "1", 1);
  setenv("RANK", "0", 1);
  Stage stage(folder.library(), 0, best());
  unsetenv("ASSAY_TEST_SECRET");
  unsetenv("RANK");
  ASSERT_FALSE(stage.load());
  const Findings seen = act(stage, Action::look);
  const std::set<std::string> listed = {"PATH",
                                        "LD_LIBRARY_PATH",
                                        "CUDA_VISIBLE_DEVICES",
                                        "NCCL_HOSTID",
                                        "NCCL_SOCKET_IFNAME",
                                        "NCCL_IB_DISABLE",
                                        "NCCL_NVLS_ENABLE",
                                        "NCCL_DEBUG",
                                        "ASAN_OPTIONS",
                                        "UBSAN_OPTIONS",
                                        "HOME",
                                        "TMPDIR",
                                        "CUDA_CACHE_PATH",
                                        "RANK",
                                        "LOCAL_RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "TP_SIZE"};
  const auto [first, last] = seen.equal_range("env");
  std::set<std::string> lines;
  for (auto line = first; line != last; ++line) {
    lines.insert(line->second);
    EXPECT_TRUE(listed.count(line->second.substr(0, line->second.find('=')))) << line->second;
  }
  EXPECT_TRUE(lines.count("HOME=/tmp"));
  EXPECT_FALSE(lines.count("RANK=5")) << "what every worker is told that is not confined";
}

TEST(Isolation, NothingThatAWorkerIsCalledSaysAssay) {
  SKIP_UNLESS_NAMESPACES();
  const Folder folder;
  std::set<std::string> cmdlines;
  for (int i = 0; i < 8; ++i) {
    Stage stage(folder.library(), 0, best());
    ASSERT_FALSE(stage.load());
    const Findings seen = act(stage, Action::look);
    for (const char* what : {"comm", "exe", "cmdline", "parent_comm", "parent_cmdline"})
      EXPECT_EQ(one(seen, what).find("assay"), std::string::npos) << what << ": " << one(seen, what);
    const auto [first, last] = seen.equal_range("map");
    for (auto map = first; map != last; ++map)
      EXPECT_TRUE(map->second.find("assay") == std::string::npos || map->second == folder.library()) << map->second;
    cmdlines.insert(one(seen, "cmdline"));
  }
  EXPECT_GT(cmdlines.size(), 1u) << "a disguise that never changes is no disguise";
}

TEST(Isolation, AWorkerReachesNoProcessButItsOwn) {
  SKIP_UNLESS_NAMESPACES();
  const Folder folder;
  Stage other(folder.library(), 0, best());
  ASSERT_FALSE(other.load());
  Stage stage(folder.library(), 0, best());
  ASSERT_FALSE(stage.load());
  const Findings tried = act(stage, Action::attack);
  EXPECT_EQ(one(tried, "seen"), "1") << "the first process of its namespace";
  for (const char* what : {"read", "traced", "signalled"}) EXPECT_EQ(one(tried, what), "0") << what;
  EXPECT_FALSE(other.call(kSilu, 1, 9)) << "another worker of the same user lives on";
}

TEST(Isolation, AWorkerChangesNoFileAndReachesNoNetwork) {
  SKIP_UNLESS_NAMESPACES();
  // The likely places: under what is covered with private memory, and elsewhere.
  for (const std::string& place : {testing::TempDir(), fs::current_path().string()}) {
    const Folder folder(place);
    std::ofstream(folder.file("results.jsonl")) << "{}\n";
    chmod(folder.file("results.jsonl").c_str(), 0666);
    const OwnedFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof own;
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    ASSERT_EQ(listen(listener.get(), 1), 0);
    ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&own), &bytes), 0);
    std::ofstream(folder.file("port")) << ntohs(own.sin_port) << "\n";
    chmod(folder.file("port").c_str(), 0644);
    Stage stage(folder.library(), 0, best());
    ASSERT_FALSE(stage.load());
    const auto free_before = fs::space(place).available;
    const Findings tried = act(stage, Action::damage);
    EXPECT_EQ(one(tried, "reads_results"), "1") << "it looked at the right file in " << place;
    for (const char* what : {"appends", "truncates", "removes", "creates", "replaces_library"})
      EXPECT_EQ(one(tried, what), "0") << what << " in " << place;
    EXPECT_EQ(one(tried, "connects"), "Connection refused");
    EXPECT_EQ(one(tried, "reaches_outside"), "Network is unreachable");
    EXPECT_EQ(one(tried, "stopped_by"), "No space left on device");
    EXPECT_LE(std::stoll(one(tried, "filled")), 256LL << 20);
    EXPECT_GT(fs::space(place).available + (64u << 20), free_before);
    std::ifstream results(folder.file("results.jsonl"));
    std::string line;
    EXPECT_TRUE(std::getline(results, line) && line == "{}");
  }
}

TEST(Isolation, WhatAWorkerLeavesIsGoneWhenItsEndIsSeen) {
  SKIP_UNLESS_NAMESPACES();
  const auto isolation = Isolation::establish(ASSAY_WORKER, 3);
  const uid_t user = user_of(*isolation);
  const Folder folder;
  Stage stage(folder.library(), 0, isolation);
  ASSERT_FALSE(stage.load());
  EXPECT_EQ(processes_of(user).size(), 1u);
  const auto fault = stage.call(kSilu, 1, static_cast<std::int64_t>(Action::daemon));
  ASSERT_TRUE(fault);
  EXPECT_EQ(name_of(fault->reason), "crash") << fault->text;
  EXPECT_TRUE(processes_of(user).empty());
  EXPECT_TRUE(children().empty());
}

TEST(Isolation, AStormOfForksEndsWithItsWorker) {
  SKIP_UNLESS_NAMESPACES();
  const Folder folder;
  expect_storm_ends(folder.library(), Isolation::establish(ASSAY_WORKER, 0));
}

TEST(Isolation, AKilledJudgeLeavesNoProcess) {
  SKIP_UNLESS_NAMESPACES();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const Folder folder;
  const pid_t judge = fork();
  if (judge == 0) {
    const auto isolation = Isolation::establish(ASSAY_WORKER, 0);
    Stage stage(folder.library(), 0, isolation);
    const uid_t user = stage.load() ? 0 : user_of(*isolation);
    if (::write(ready[1], &user, sizeof user) != sizeof user) _exit(1);
    while (true) pause();
  }
  uid_t user = 0;
  ASSERT_EQ(::read(ready[0], &user, sizeof user), static_cast<ssize_t>(sizeof user));
  close(ready[0]);
  close(ready[1]);
  ASSERT_GE(user, 61184u);
  EXPECT_EQ(processes_of(user).size(), 1u);
  kill(judge, SIGKILL);
  waitpid(judge, nullptr, 0);
  EXPECT_TRUE(soon_gone(user));
}

TEST(Isolation, ALibraryBehindAClosedFolderIsFound) {
  SKIP_UNLESS_NAMESPACES();
  for (const mode_t mode : {0755, 0711, 0700}) {
    const Folder folder(testing::TempDir(), mode);
    Stage stage(folder.library(), 0, best());
    const auto fault = stage.load();
    EXPECT_FALSE(fault) << fault->text;
  }
  const std::string closed = fs::path(testing::TempDir()) / ("assay-closed-" + std::to_string(getpid()));
  fs::create_directory(closed);
  chmod(closed.c_str(), 0700);
  {
    const Folder below(closed);
    Stage stage(below.library(), 0, best());
    EXPECT_FALSE(stage.load());
  }
  fs::remove_all(closed);
}

TEST(Isolation, ARelativePathIsOfTheJudgesFolder) {
  SKIP_UNLESS_NAMESPACES();
  const Folder folder;
  Stage stage(fs::relative(folder.library()).string(), 0, best());
  EXPECT_FALSE(stage.load());
}

TEST(Isolation, ALibraryThatOthersMayNotReadIsRefusedWithWhatToDo) {
  SKIP_UNLESS_NAMESPACES();
  const Folder folder;
  chmod(folder.library().c_str(), 0700);
  Stage stage(folder.library(), 0, best());
  try {
    (void)stage.load();
    ADD_FAILURE() << "it was loaded";
  } catch (const LibraryRefused& refused) {
    EXPECT_EQ(refused.code(), "closed");
    EXPECT_NE(std::string(refused.what()).find("chmod o+r " + folder.library()), std::string::npos) << refused.what();
  }
}

#ifdef ASSAY_FAULTY  // absent from asan builds

class Confined : public testing::TestWithParam<Misdeed> {};

TEST_P(Confined, IsBlamedAsItIsWithoutIsolation) {
  if (!best()->confines()) GTEST_SKIP() << "this machine isolates nothing: " << best()->text();
  const Misdeed& m = GetParam();
  const std::string slot = std::string(m.stem).rfind("silu", 0) == 0 ? kSilu : kNorm;
  Stage stage(faulty(m.stem), m.data_limit, best());
  ASSERT_FALSE(stage.load());
  const auto start = Clock::now();
  const auto fault = stage.call(slot, m.rows, m.width, m.deadline_ms);
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
  ASSERT_TRUE(fault);
  EXPECT_EQ(name_of(fault->verdict), "FAIL") << fault->text;
  EXPECT_EQ(name_of(fault->reason), name_of(m.reason)) << fault->text;
  EXPECT_EQ(name_of(fault->phase), name_of(m.phase)) << fault->text;
  EXPECT_LT(took, m.reason == Reason::timeout ? m.deadline_ms + 1000 : 2000);
  EXPECT_TRUE(children().empty());
}
INSTANTIATE_TEST_SUITE_P(Candidates, Confined, testing::ValuesIn(kMisdeeds),
                         [](const auto& each) { return std::string(each.param.stem); });

TEST(Isolation, ACrashWhileLoadingIsALoadCrash) {
  if (!best()->confines()) GTEST_SKIP() << "this machine isolates nothing: " << best()->text();
  Stage stage(faulty("norm_crashes_at_load"), 0, best());
  const auto fault = stage.load();
  ASSERT_TRUE(fault);
  EXPECT_EQ(name_of(fault->reason), "load_crash") << fault->text;
}

TEST(Isolation, AKillFromOutsideDecidesNothing) {
  SKIP_UNLESS_NAMESPACES();
  // The supervisor, and the worker itself.
  for (const bool supervisor : {true, false}) {
    const auto isolation = Isolation::establish(ASSAY_WORKER, 0);
    Stage stage(faulty("norm_hangs_in_kernel"), 0, isolation);
    ASSERT_FALSE(stage.load());
    const std::set<pid_t> workers = supervisor ? children() : processes_of(user_of(*isolation));
    ASSERT_EQ(workers.size(), 1u);
    std::thread killer([worker = *workers.begin()] {
      usleep(100'000);
      kill(worker, SIGKILL);
    });
    const auto fault = stage.call(kNorm, 3, 4, 5000);
    killer.join();
    ASSERT_TRUE(fault);
    EXPECT_EQ(name_of(fault->reason), "killed") << fault->text;
    EXPECT_TRUE(soon_gone(user_of(*isolation)));
  }
}

#endif  // ASSAY_FAULTY

}  // namespace
}  // namespace assay
