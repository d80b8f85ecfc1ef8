#include "harness/worker/oom_kills.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace assay {
namespace {

TEST(OomKills, AProcessThatIsKilledByAnotherIsNotCounted) {
  const auto before = oom_kills();
  if (!before) GTEST_SKIP() << "this kernel does not count them";
  const pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  ASSERT_GT(child, 0);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(oom_kills(), before);
}

}  // namespace
}  // namespace assay
