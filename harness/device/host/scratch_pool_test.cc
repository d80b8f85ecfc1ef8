#include "harness/device/host/scratch_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace assay::host {
namespace {

bool poisoned(const std::shared_ptr<std::byte>& memory, std::size_t bytes) {
  return std::all_of(memory.get(), memory.get() + bytes, [](std::byte b) { return b == std::byte{0xFF}; });
}

TEST(ScratchPool, MemoryIsAlignedAndPoisonedAtEveryUse) {
  ScratchPool pool;
  for (int use = 0; use < 3; ++use) {
    auto memory = pool.take(1000);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % ScratchPool::alignment, 0u);
    EXPECT_TRUE(poisoned(memory, 1000));
    memory.get()[7] = std::byte{0};
    pool.recycle();
  }
}

TEST(ScratchPool, ARecycledBufferIsReusedAndASmallOneGrows) {
  ScratchPool pool;
  const std::byte* first = pool.take(4096).get();
  pool.recycle();
  EXPECT_EQ(pool.take(100).get(), first);
  pool.recycle();
  EXPECT_TRUE(poisoned(pool.take(1 << 20), 1 << 20));
}

TEST(ScratchPool, QueuedAndCapturedUsersKeepTheirBuffers) {
  ScratchPool pool;
  const std::byte* queued = pool.take(64).get();
  const auto captured = pool.take(64);
  EXPECT_NE(queued, captured.get());
  captured.get()[0] = std::byte{1};
  pool.recycle();
  EXPECT_NE(pool.take(64).get(), captured.get());
  EXPECT_NE(pool.take(64).get(), captured.get());
  pool.recycle();
  pool.trim();
  EXPECT_EQ(captured.get()[0], std::byte{1});
}

TEST(ScratchPool, AByteJustPastTheEndIsToldOnce) {
  ScratchPool pool;
  const auto memory = pool.take(10);
  EXPECT_FALSE(pool.damage());
  memory.get()[10] = std::byte{0};
  const auto text = pool.damage();
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "wrote 1 bytes past the end of its 10 bytes of scratch");
  EXPECT_FALSE(pool.damage());
}

}  // namespace
}  // namespace assay::host
