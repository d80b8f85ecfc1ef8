#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include "harness/device/cuda/cuda_device.hpp"
#include "harness/device/cuda/fake_driver.hpp"

namespace assay {
namespace {

constexpr std::uint64_t kUnit = std::uint64_t{2} << 20;

class CudaMemoryTest : public testing::Test {
 protected:
  CudaMemoryTest() : memory(make_cuda_memory(fake.api(), 0)), idle(fake.live.size()) { fake.clear(); }
  FakeDriver fake;
  std::unique_ptr<MemoryDomain> memory;
  std::size_t idle;
};

const ArenaPlan kHoles{8 * kUnit, {{0, kUnit}, {4 * kUnit, 2 * kUnit}}};

TEST_F(CudaMemoryTest, ArchitectureIsTheDescriptorsWord) { EXPECT_EQ(memory->architecture(), "sm90"); }

TEST_F(CudaMemoryTest, ArenaIsOneShareableHandleAChunkZeroedAndReadWrite) {
  const auto arena = memory->create(kHoles);
  EXPECT_TRUE(fake.in_order({"cuMemAddressReserve 16777216", "cuMemCreate 2097152", "cuMemExportToShareableHandle",
                             "cuMemMap", "cuMemSetAccess read-write", "cuMemRelease"}));
  EXPECT_TRUE(fake.in_order({"cuMemsetD8Async 0*2097152", "cuMemsetD8Async 0*4194304", "cuStreamSynchronize"}));
  EXPECT_EQ(fake.count("cuMemMap"), 2u) << "holes stay unmapped";
  EXPECT_EQ(arena->descriptors().size(), 2u);
  EXPECT_EQ(arena->plan().chunks.size(), 2u);
  EXPECT_NE(arena->base(), nullptr);
}

TEST_F(CudaMemoryTest, ViewsAreGrantedTheAccessAskedForAndNoMore) {
  const auto view = memory->map(kHoles, {41, 42}, Access::read_only);
  EXPECT_TRUE(fake.in_order({"cuMemImportFromShareableHandle 41", "cuMemSetAccess read",
                             "cuMemImportFromShareableHandle 42", "cuMemSetAccess read"}));
  EXPECT_EQ(fake.count("cuMemSetAccess read-write"), 0u);
  EXPECT_EQ(fake.count("cuMemsetD8Async 0*2097152"), 0u) << "mapping never clears";
  const auto writable = memory->map(kHoles, {41, 42}, Access::read_write);
  EXPECT_EQ(fake.count("cuMemSetAccess read-write"), 2u);
}

TEST_F(CudaMemoryTest, HostedMemoryIsTwoViewsOfOneExportableHandleAChunk) {
  const auto hosted = memory->host(kHoles, Access::read_only);
  EXPECT_TRUE(fake.in_order({"cuMemCreate 2097152", "cuMemSetAccess read-write", "cuMemSetAccess read",
                             "cuMemsetD8Async 0*2097152", "cuMemCreate 4194304", "cuStreamSynchronize"}));
  EXPECT_EQ(fake.count("cuMemMap"), 4u);
  EXPECT_EQ(fake.count("cuMemImportFromShareableHandle"), 0u) << "an imported handle cannot be exported again";
  EXPECT_NE(hosted.candidate->base(), hosted.trusted->base());
}

TEST_F(CudaMemoryTest, DescriptorsAreClosedWithTheArena) {
  auto arena = memory->create(kHoles);
  const std::vector<int> descriptors = arena->descriptors();
  for (const int d : descriptors) EXPECT_EQ(fcntl(d, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  arena.reset();
  for (const int d : descriptors) EXPECT_EQ(fcntl(d, F_GETFD), -1);
  EXPECT_EQ(fake.live.size(), idle);
}

TEST_F(CudaMemoryTest, ArenaOutlivesItsDomain) {
  auto arena = memory->create(kHoles);
  memory.reset();
  EXPECT_EQ(fake.count("cuDevicePrimaryCtxRelease"), 0u);
  arena.reset();
  EXPECT_TRUE(fake.live.empty());
}

TEST_F(CudaMemoryTest, FailureHalfWayUnmapsWhatWasMapped) {
  for (const char* function :
       {"cuMemAddressReserve", "cuMemCreate", "cuMemExportToShareableHandle", "cuMemMap", "cuMemSetAccess"}) {
    fake.fail(function, CUDA_ERROR_OUT_OF_MEMORY, std::string(function) == "cuMemAddressReserve" ? 1 : 2);
    EXPECT_THROW((void)memory->create(kHoles), DeviceError) << function;
    EXPECT_EQ(fake.live.size(), idle) << function;
    fake.fail(function, CUDA_SUCCESS);
  }
  for (const char* function : {"cuMemCreate", "cuMemMap", "cuMemSetAccess"}) {
    fake.fail(function, CUDA_ERROR_OUT_OF_MEMORY, 2);
    EXPECT_THROW((void)memory->host(kHoles, Access::read_only), DeviceError) << function;
    EXPECT_EQ(fake.live.size(), idle) << function;
    fake.fail(function, CUDA_SUCCESS);
  }
  fake.fail("cuMemImportFromShareableHandle", CUDA_ERROR_INVALID_VALUE, 2);
  EXPECT_THROW((void)memory->map(kHoles, {41, 42}, Access::read_only), DeviceError);
  EXPECT_EQ(fake.live.size(), idle);
}

TEST_F(CudaMemoryTest, IllegalPlansAreRefusedBeforeAnythingIsReserved) {
  const ArenaPlan plans[] = {
      {0, {}},
      {kUnit + 1, {}},
      {4 * kUnit, {{0, kUnit / 2}}},
      {4 * kUnit, {{1, kUnit}}},
      {4 * kUnit, {{0, 0}}},
      {4 * kUnit, {{0, 2 * kUnit}, {kUnit, kUnit}}},
      {4 * kUnit, {{2 * kUnit, kUnit}, {0, kUnit}}},
      {4 * kUnit, {{3 * kUnit, 2 * kUnit}}},
      {4 * kUnit, {{8 * kUnit, kUnit}}},
      {4 * kUnit, {{kUnit, UINT64_MAX - kUnit + 1}}},
  };
  for (const ArenaPlan& plan : plans) {
    EXPECT_THROW((void)memory->create(plan), DeviceError);
    EXPECT_THROW((void)memory->map(plan, std::vector<int>(plan.chunks.size(), 3), Access::read_only), DeviceError);
  }
  EXPECT_THROW((void)memory->map(kHoles, {3}, Access::read_only), DeviceError) << "one descriptor for two chunks";
  EXPECT_EQ(fake.live.size(), idle);
}

TEST_F(CudaMemoryTest, CopiesOfEverySizeArriveWhole) {
  constexpr std::size_t kPiece = std::size_t{4} << 20;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{65537}, kPiece - 1, kPiece, kPiece + 1,
                                  2 * kPiece, 2 * kPiece + 1, 5 * kPiece + 12345}) {
    fake.store.assign(bytes, std::byte{0});
    std::vector<std::byte> sent(bytes), received(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      sent[i] = static_cast<std::byte>(((i * 2654435761u) >> 13) + 31 * (i >> 20));
    memory->upload(reinterpret_cast<void*>(FakeDriver::kStore), sent.data(), bytes);
    EXPECT_TRUE(fake.store == sent) << bytes;
    memory->download(received.data(), reinterpret_cast<void*>(FakeDriver::kStore), bytes);
    EXPECT_TRUE(received == sent) << bytes;
  }
}

TEST_F(CudaMemoryTest, StagingGrowsOnDemandAndSmallCopiesReuseIt) {
  fake.store.assign(std::size_t{9} << 20, std::byte{0});
  std::vector<std::byte> host(std::size_t{9} << 20);
  void* const device = reinterpret_cast<void*>(FakeDriver::kStore);
  memory->upload(device, host.data(), 100);
  memory->upload(device, host.data(), 200);
  EXPECT_EQ(fake.count("cuMemHostAlloc 65536"), 1u);
  memory->upload(device, host.data(), host.size());
  EXPECT_EQ(fake.count("cuMemHostAlloc 8388608"), 1u);
  fake.clear();
  memory->download(host.data(), device, host.size());
  EXPECT_EQ(fake.count("cuMemHostAlloc 8388608"), 0u);
}

TEST_F(CudaMemoryTest, HandlesOfAResetContextAreNeverTouched) {
  fake.context_id = 2;
  std::byte host[16]{};
  EXPECT_THROW(memory->upload(reinterpret_cast<void*>(FakeDriver::kStore), host, 16), DeviceError);
  memory.reset();
  EXPECT_EQ(fake.log, std::vector<std::string>{"cuDevicePrimaryCtxRelease"});
}

TEST_F(CudaMemoryTest, FailedCopyThrowsTheDriversWords) {
  fake.store.assign(16, std::byte{0});
  fake.fail("cuStreamSynchronize", CUDA_ERROR_ILLEGAL_ADDRESS);
  std::byte host[16]{};
  EXPECT_THROW(memory->upload(reinterpret_cast<void*>(FakeDriver::kStore), host, 16), DeviceError);
}

}  // namespace
}  // namespace assay
