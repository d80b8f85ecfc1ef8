#include "harness/worker/surroundings.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cfenv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <thread>

#include "harness/worker/program.hpp"

namespace assay {
namespace {

constexpr std::uint32_t kNothing = 0;
constexpr std::size_t kBlock = 32 << 20;

TEST(Surroundings, WhereNothingChangedNothingIsSaid) {
  const Surroundings before = surroundings(), after = surroundings();
  EXPECT_EQ(changed(before, after), kNothing);
  EXPECT_LT(host_bytes_grown(before, after), 1 << 20);
  EXPECT_GE(before.threads, 1);
  EXPECT_FALSE(before.directory.empty());
}

TEST(Surroundings, AVariableThatIsSetChangedOrRemovedIsSeen) {
  unsetenv("ASSAY_SURROUNDINGS");
  const Surroundings none = surroundings();
  setenv("ASSAY_SURROUNDINGS", "1", 1);
  const Surroundings one = surroundings();
  setenv("ASSAY_SURROUNDINGS", "2", 1);
  const Surroundings two = surroundings();
  unsetenv("ASSAY_SURROUNDINGS");
  EXPECT_EQ(changed(none, one), static_cast<std::uint32_t>(kEnvironment));
  EXPECT_EQ(changed(one, two), static_cast<std::uint32_t>(kEnvironment));
  EXPECT_EQ(changed(two, none), static_cast<std::uint32_t>(kEnvironment));
  EXPECT_EQ(changed(none, surroundings()), kNothing) << "put back as it was";
}

TEST(Surroundings, ASignalHandlerIsSeen) {
  const Surroundings before = surroundings();
  struct sigaction ignore = {}, kept = {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGUSR2, &ignore, &kept), 0);
  const Surroundings after = surroundings();
  sigaction(SIGUSR2, &kept, nullptr);
  EXPECT_EQ(changed(before, after), static_cast<std::uint32_t>(kSignalHandlers));
  EXPECT_EQ(changed(before, surroundings()), kNothing);
}

TEST(Surroundings, AnotherRoundingOfTheThreadIsSeenAndWhatItMetIsNot) {
  const Surroundings before = quick_surroundings();
  ASSERT_EQ(std::fesetround(FE_DOWNWARD), 0);
  const Surroundings after = quick_surroundings();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(changed(before, after), static_cast<std::uint32_t>(kRounding));
  std::feraiseexcept(FE_INEXACT | FE_DIVBYZERO);
  EXPECT_EQ(changed(before, quick_surroundings()), kNothing);
  std::feclearexcept(FE_ALL_EXCEPT);
}

TEST(Surroundings, AnotherDirectoryIsSeen) {
  const Surroundings before = surroundings();
  ASSERT_EQ(chdir("/proc"), 0);
  const Surroundings after = surroundings();
  ASSERT_EQ(chdir(before.directory.c_str()), 0);
  EXPECT_EQ(changed(before, after), static_cast<std::uint32_t>(kDirectory));
  EXPECT_EQ(changed(before, surroundings()), kNothing);
}

TEST(Surroundings, AThreadThatLivesIsSeenAndOneThatEndedIsNot) {
  const Surroundings before = surroundings();
  std::promise<void> end;
  std::thread thread([ended = end.get_future()] { ended.wait(); });
  const Surroundings during = surroundings();
  end.set_value();
  thread.join();
  EXPECT_EQ(changed(before, during), static_cast<std::uint32_t>(kThreads));
  EXPECT_EQ(changed(during, before), kNothing) << "fewer threads are nobody's misdeed";
}

TEST(Surroundings, SeveralChangesAreSeveralBits) {
  const Surroundings before = surroundings();
  setenv("ASSAY_SURROUNDINGS", "1", 1);
  ASSERT_EQ(chdir("/proc"), 0);
  const Surroundings after = surroundings();
  unsetenv("ASSAY_SURROUNDINGS");
  ASSERT_EQ(chdir(before.directory.c_str()), 0);
  EXPECT_EQ(changed(before, after), static_cast<std::uint32_t>(kEnvironment | kDirectory));
}

TEST(Surroundings, MemoryThatIsHeldCountsFromTheHeapAndFromMappingsOnceTouched) {
  Surroundings before = surroundings();
  const auto heap = std::make_unique<char[]>(kBlock);  // zeroed, so touched
  EXPECT_GE(host_bytes_grown(before, surroundings()), static_cast<std::int64_t>(kBlock));
  before = surroundings();
  void* mapping = mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapping, MAP_FAILED);
  EXPECT_LT(host_bytes_grown(before, surroundings()), 4 << 20) << "addresses are no memory";
  std::memset(mapping, 1, kBlock);
  EXPECT_GE(host_bytes_grown(before, surroundings()), static_cast<std::int64_t>(kBlock) - (1 << 20));
  munmap(mapping, kBlock);
  EXPECT_LT(host_bytes_grown(before, surroundings()), 4 << 20) << "and given back is not held";
}

}  // namespace
}  // namespace assay
