// What is left of isolation where a machine allows less: in a container, for an ordinary user, where nothing goes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "harness/device/owned_fd.hpp"
#include "harness/worker/looks_around_test.hpp"

namespace assay {
namespace {

// Runs a body in a child, as in a container without CAP_SYS_ADMIN: a program below another root makes no user
// namespace.
enum class Who { root, ordinary };
template <class Body>
void in_container(Who who, Body&& body) {
  std::string root = testing::TempDir() + "assay-root-XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  chmod(root.c_str(), 0755);
  const pid_t child = fork();
  if (child == 0) {
    const bool set_up = unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                        mount("/", root.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
                        chroot(root.c_str()) == 0 && chdir("/") == 0 && prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN) == 0;
    EXPECT_TRUE(set_up) << std::strerror(errno);
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[2] = {};
    syscall(SYS_capget, &header, sets);
    for (auto* set : {&sets[0].effective, &sets[0].permitted, &sets[0].inheritable}) *set &= ~(1U << CAP_SYS_ADMIN);
    EXPECT_EQ(syscall(SYS_capset, &header, sets), 0);
    EXPECT_TRUE(who == Who::root || setresuid(1234, 1234, 1234) == 0);
    if (!testing::Test::HasFailure()) body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure());
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "see above";
  fs::remove(root);
}

TEST(IsolationLevels, WhereNoNamespaceIsAllowedAWorkerIsAnotherUser) {
  SKIP_UNLESS_NAMESPACES();
  in_container(Who::root, [] {
    const auto isolation = Isolation::establish(ASSAY_WORKER, 0);
    ASSERT_EQ(name_of(isolation->level()), "user") << isolation->text();
    EXPECT_NE(isolation->missing().find("unshare"), std::string::npos) << isolation->missing();
    const Folder folder;
    Stage stage(folder.library(), 0, isolation);
    ASSERT_FALSE(stage.load());
    Findings seen = act(stage, Action::look);
    const auto user = static_cast<uid_t>(std::stoul(one(seen, "uid")));
    EXPECT_GE(user, 61184u);
    EXPECT_EQ(one(seen, "groups"), "0");
    EXPECT_EQ(one(seen, "no_new_privs"), "1");
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd"}) EXPECT_EQ(one(seen, set), "0000000000000000");
    EXPECT_EQ(one(seen, "descriptors"), "0,1,2,3,4,5,");
    EXPECT_EQ(one(seen, "parent_environ"), "");
    Stage other(folder.library(), 0, isolation);
    ASSERT_FALSE(other.load());
    const auto second = static_cast<uid_t>(std::stoul(one(act(other, Action::look), "uid")));
    EXPECT_NE(second, user);
    const Findings tried = act(other, Action::attack);
    EXPECT_GT(std::stoi(one(tried, "seen")), 1) << "without a pid namespace it sees them all";
    EXPECT_EQ(one(tried, "read"), "0");
    EXPECT_EQ(one(tried, "traced"), "0");
    EXPECT_EQ(one(tried, "signalled"), "0") << "not even another worker: that is another user";
    const auto fault = other.call(kSilu, 1, static_cast<std::int64_t>(Action::daemon));
    ASSERT_TRUE(fault);
    EXPECT_EQ(name_of(fault->reason), "crash") << fault->text;
    EXPECT_TRUE(processes_of(second).empty());
#ifdef ASSAY_FAULTY
    for (const Misdeed& m : kMisdeeds) {
      Stage wrong(faulty(m.stem), m.data_limit, isolation);
      ASSERT_FALSE(wrong.load());
      const auto blamed =
          wrong.call(std::string(m.stem).rfind("silu", 0) == 0 ? kSilu : kNorm, m.rows, m.width, m.deadline_ms);
      ASSERT_TRUE(blamed) << m.stem;
      EXPECT_EQ(name_of(blamed->reason), name_of(m.reason)) << m.stem << ": " << blamed->text;
      EXPECT_EQ(name_of(blamed->phase), name_of(m.phase)) << m.stem << ": " << blamed->text;
    }
#endif
    EXPECT_EQ(processes_of(user).size(), 1u) << "the first worker lives on";
    EXPECT_FALSE(stage.call(kSilu, 1, 9));
  });
}

TEST(IsolationLevels, AWorkerOfAnotherUserHasNoTerminal) {
  SKIP_UNLESS_NAMESPACES();
  in_container(Who::root, [] {
    // A session of this judge's own, with a terminal that everyone may open as /dev/tty.
    signal(SIGHUP, SIG_IGN);  // at its end
    ASSERT_GE(setsid(), 0);
    const OwnedFd ours(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    ASSERT_GE(ours.get(), 0);
    ASSERT_EQ(grantpt(ours.get()), 0);
    ASSERT_EQ(unlockpt(ours.get()), 0);
    const OwnedFd terminal(open(ptsname(ours.get()), O_RDWR | O_CLOEXEC));
    ASSERT_GE(terminal.get(), 0);
    ASSERT_GE(OwnedFd(open("/dev/tty", O_RDWR | O_CLOEXEC)).get(), 0);
    const Folder folder;
    Stage stage(folder.library(), 0, Isolation::establish(ASSAY_WORKER, 0));
    ASSERT_FALSE(stage.load());
    EXPECT_EQ(one(act(stage, Action::look), "terminal"), "0");
    EXPECT_GE(OwnedFd(open("/dev/tty", O_RDWR | O_CLOEXEC)).get(), 0) << "the judge keeps its own";
  });
}

TEST(IsolationLevels, AStormOfForksOfAnotherUserEndsWithItsWorker) {
  SKIP_UNLESS_NAMESPACES();
  in_container(Who::root, [] {
    const Folder folder;
    expect_storm_ends(folder.library(), Isolation::establish(ASSAY_WORKER, 0));
  });
}

TEST(IsolationLevels, WhereNothingIsAllowedWorkersAreTrustedAndTheReasonIsSaid) {
  SKIP_UNLESS_NAMESPACES();
  in_container(Who::ordinary, [] {
    const auto isolation = Isolation::establish(ASSAY_WORKER, 0);
    EXPECT_EQ(isolation->text().rfind("trusting: ", 0), 0u) << isolation->text();
    EXPECT_NE(isolation->missing().find("CLONE_NEWUSER"), std::string::npos) << isolation->missing();
    EXPECT_NE(isolation->missing().find("not root"), std::string::npos) << isolation->missing();
    Stage stage(kRight, 0, isolation);
    ASSERT_FALSE(stage.load());
    EXPECT_FALSE(stage.call(kSilu, 3, 5));
  });
}

TEST(IsolationLevels, AnOrdinaryUserGetsNamespacesInAUserNamespace) {
  SKIP_UNLESS_NAMESPACES();
  const pid_t child = fork();
  if (child == 0) {
    EXPECT_EQ(setresgid(1234, 1234, 1234), 0);
    EXPECT_EQ(setresuid(1234, 1234, 1234), 0);
    [] {
      if (access(ASSAY_WORKER, X_OK) != 0) return;  // a build folder that is closed to others
      const auto isolation = Isolation::establish(ASSAY_WORKER, 0);
      if (isolation->level() != IsolationLevel::namespaces) return;  // forbidden to ordinary users here
      EXPECT_NE(isolation->text().find("user namespace"), std::string::npos) << isolation->text();
      const Folder folder;
      Stage stage(folder.library(), 0, isolation);
      ASSERT_FALSE(stage.load());
      const Findings seen = act(stage, Action::look);
      EXPECT_EQ(one(seen, "uid"), "1234");
      EXPECT_EQ(one(seen, "no_new_privs"), "1");
      for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd"}) EXPECT_EQ(one(seen, set), "0000000000000000");
      EXPECT_EQ(one(seen, "interfaces"), "lo,");
      EXPECT_EQ(one(seen, "descriptors"), "0,1,2,3,4,5,");
      EXPECT_EQ(one(seen, "parent_environ"), "") << "its first process has privileges that it lacks";
      Stage other(folder.library(), 0, isolation);
      ASSERT_FALSE(other.load());
      const Findings tried = act(other, Action::attack);
      EXPECT_EQ(one(tried, "seen"), "1");
      for (const char* what : {"read", "traced"}) EXPECT_EQ(one(tried, what), "0") << what;
      const auto fault = other.call(kSilu, 1, static_cast<std::int64_t>(Action::daemon));
      ASSERT_TRUE(fault);
      EXPECT_EQ(name_of(fault->reason), "crash") << fault->text;
    }();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure());
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "see above";
}

}  // namespace
}  // namespace assay
