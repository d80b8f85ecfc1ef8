#include <fcntl.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "harness/device/memory.hpp"

namespace assay {
namespace {

sigjmp_buf escape;
volatile std::uintptr_t fault_address;

void on_fault(int, siginfo_t* info, void*) {
  fault_address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  siglongjmp(escape, 1);
}

// Whether the touch faults, and exactly there.
template <class Touch>
bool faults_at(const volatile std::byte* address, Touch&& touch) {
  struct sigaction action {
  }, before{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before);
  const bool faulted = sigsetjmp(escape, 1) != 0;
  if (!faulted) touch();
  sigaction(SIGSEGV, &before, nullptr);
  return faulted && fault_address == reinterpret_cast<std::uintptr_t>(address);
}
bool read_faults(std::byte* address) {
  return faults_at(address, [=] { static_cast<void>(*static_cast<volatile std::byte*>(address)); });
}
bool write_faults(std::byte* address) {
  return faults_at(address, [=] { *static_cast<volatile std::byte*>(address) = std::byte{1}; });
}

class Arenas : public ::testing::Test {
 protected:
  std::unique_ptr<MemoryDomain> memory_ = make_host_memory();
  const std::uint64_t page_ = memory_->granularity();
  // [hole][A A][hole][B][hole ...]
  const ArenaPlan holes_{8 * page_, {{page_, 2 * page_}, {4 * page_, page_}}};
};

TEST_F(Arenas, HostedMemoryIsReadOnlyToTheCandidateAndWritableElsewhere) {
  const HostedArena hosted = memory_->host(holes_, Access::read_only);
  std::byte* const own = hosted.trusted->base() + holes_.chunks[1].offset;
  std::byte* const candidates = hosted.candidate->base() + holes_.chunks[1].offset;
  EXPECT_EQ(*candidates, std::byte{0});
  *own = std::byte{7};
  EXPECT_EQ(*candidates, std::byte{7});
  EXPECT_TRUE(write_faults(candidates));
  EXPECT_TRUE(read_faults(hosted.candidate->base())) << "a hole";
  const HostedArena writable = memory_->host(holes_, Access::read_write);
  writable.candidate->base()[page_] = std::byte{9};
  EXPECT_EQ(writable.trusted->base()[page_], std::byte{9});
}

TEST_F(Arenas, ChunksAreZeroedAndOneDescriptorEach) {
  const auto arena = memory_->create(holes_);
  ASSERT_EQ(arena->descriptors().size(), 2u);
  for (const Chunk& chunk : holes_.chunks) {
    const std::byte* first = arena->base() + chunk.offset;
    EXPECT_TRUE(std::all_of(first, first + chunk.bytes, [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST_F(Arenas, ATouchBetweenChunksFaultsAtItsAddress) {
  const auto arena = memory_->create(holes_);
  for (const std::uint64_t offset : {std::uint64_t{0}, page_ - 1, 3 * page_, 4 * page_ - 1, 5 * page_, 8 * page_ - 1}) {
    EXPECT_TRUE(read_faults(arena->base() + offset)) << offset;
    EXPECT_TRUE(write_faults(arena->base() + offset)) << offset;
  }
  EXPECT_FALSE(write_faults(arena->base() + page_));
  EXPECT_FALSE(write_faults(arena->base() + 3 * page_ - 1));
  EXPECT_FALSE(write_faults(arena->base() + 4 * page_));
}

TEST_F(Arenas, AChunkAtTheEdgesOfTheSpanIsGuardedToo) {
  const auto arena = memory_->create({page_, {{0, page_}}});
  EXPECT_TRUE(read_faults(arena->base() - 1));
  EXPECT_TRUE(read_faults(arena->base() + page_));
}

TEST_F(Arenas, AWorkersViewsShareTheJudgesMemoryAndTheReadOnlyOneFaultsOnWrite) {
  const auto arena = memory_->create(holes_);
  const auto lent = memory_->map(holes_, arena->descriptors(), Access::read_only);
  const auto trusted = memory_->map(holes_, arena->descriptors(), Access::read_write);
  for (const std::uint64_t offset : {page_, 3 * page_ - 1, 4 * page_, 5 * page_ - 1}) {
    trusted->base()[offset] = std::byte{42};
    EXPECT_EQ(arena->base()[offset], std::byte{42});
    EXPECT_EQ(lent->base()[offset], std::byte{42});
    EXPECT_TRUE(write_faults(lent->base() + offset));
    EXPECT_EQ(arena->base()[offset], std::byte{42});
  }
  EXPECT_TRUE(read_faults(lent->base() + 3 * page_));
}

TEST_F(Arenas, TheReceiverCanNeitherResizeNorSealAndNothingIsInherited) {
  const auto arena = memory_->create(holes_);
  const int fd = arena->descriptors()[0];
  EXPECT_NE(::ftruncate(fd, static_cast<off_t>(page_)), 0);
  EXPECT_NE(::ftruncate(fd, static_cast<off_t>(64 * page_)), 0);
  EXPECT_NE(::fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
  EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(Arenas, ChunksLieInTheFileOneAfterTheOther) {
  const auto arena = memory_->create(holes_);
  arena->base()[page_] = std::byte{1};
  arena->base()[4 * page_] = std::byte{2};
  std::byte first{}, second{};
  EXPECT_EQ(::pread(arena->descriptors()[0], &first, 1, 0), 1);
  EXPECT_EQ(::pread(arena->descriptors()[1], &second, 1, static_cast<off_t>(2 * page_)), 1);
  EXPECT_EQ(first, std::byte{1});
  EXPECT_EQ(second, std::byte{2});
}

TEST_F(Arenas, AMappingOutlivesItsArena) {
  auto arena = memory_->create(holes_);
  const auto lent = memory_->map(holes_, arena->descriptors(), Access::read_write);
  arena->base()[page_] = std::byte{7};
  arena.reset();
  EXPECT_EQ(lent->base()[page_], std::byte{7});
}

TEST_F(Arenas, FarRowsCostAddressesAndNotMemory) {
  const std::uint64_t pitch = std::uint64_t{1} << 33;
  const ArenaPlan rows{2 * pitch + page_, {{0, page_}, {pitch, page_}, {2 * pitch, page_}}};
  const auto arena = memory_->create(rows);
  arena->base()[2 * pitch] = std::byte{3};
  EXPECT_TRUE(read_faults(arena->base() + pitch - 1));
  std::byte copy{};
  memory_->download(&copy, arena->base() + 2 * pitch, 1);
  EXPECT_EQ(copy, std::byte{3});
}

TEST_F(Arenas, UploadAndDownloadAreInverse) {
  const auto arena = memory_->create(holes_);
  const char text[] = "sixteen bytes ok";
  memory_->upload(arena->base() + page_ + 5, text, sizeof text);
  char back[sizeof text] = {};
  memory_->download(back, arena->base() + page_ + 5, sizeof text);
  EXPECT_STREQ(back, text);
}

TEST_F(Arenas, MalformedPlansAreRefused) {
  const std::vector<ArenaPlan> malformed = {
      {0, {}},
      {page_ + 1, {{0, page_}}},
      {page_, {{0, 0}}},
      {2 * page_, {{1, page_}}},
      {2 * page_, {{0, page_ / 2}}},
      {2 * page_, {{page_, 2 * page_}}},
      {2 * page_, {{4 * page_, page_}}},
      {4 * page_, {{0, 2 * page_}, {page_, page_}}},
      {4 * page_, {{2 * page_, page_}, {0, page_}}},
      {4 * page_, {{page_, ~std::uint64_t{0} - page_ + 1}}},
  };
  for (const ArenaPlan& plan : malformed) {
    EXPECT_THROW(static_cast<void>(memory_->create(plan)), DeviceError) << &plan - malformed.data();
  }
}

TEST_F(Arenas, DescriptorsThatDoNotFitThePlanAreRefused) {
  const auto arena = memory_->create(holes_);
  const auto fds = arena->descriptors();
  EXPECT_THROW(static_cast<void>(memory_->map(holes_, {fds[0]}, Access::read_only)), DeviceError);
  EXPECT_THROW(static_cast<void>(memory_->map(holes_, {fds[0], -1}, Access::read_only)), DeviceError);
  const ArenaPlan larger{8 * page_, {{page_, 2 * page_}, {4 * page_, 2 * page_}}};
  EXPECT_THROW(static_cast<void>(memory_->map(larger, fds, Access::read_only)), DeviceError);
}

}  // namespace
}  // namespace assay
