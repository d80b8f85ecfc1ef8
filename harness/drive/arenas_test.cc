// Lent memory: reuse between trials, growth that workers can notice, fences and far rows.
#include "harness/drive/arenas.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "harness/tensor/layout.hpp"

namespace assay {
namespace {

class ArenasTest : public ::testing::Test {
 protected:
  std::unique_ptr<MemoryDomain> memory_ = make_host_memory();
  Arenas arenas_{*memory_};
};

TEST_F(ArenasTest, TrialsShareOneArenaUntilItIsTooSmall) {
  arenas_.begin_trial();
  arenas_.reserve(1000, 1000);
  const Arena* first = arenas_.get(kInputs);
  const std::uint64_t generation = arenas_.generation(kInputs);
  ASSERT_NE(first, nullptr);
  for (int trial = 0; trial < 20; ++trial) {
    arenas_.begin_trial();
    arenas_.reserve(100'000, 1000);
    EXPECT_EQ(arenas_.take(kInputs, 100'000, 0), 0u) << "a new trial starts over";
  }
  EXPECT_EQ(arenas_.get(kInputs), first);
  EXPECT_EQ(arenas_.generation(kInputs), generation);
  const std::uint64_t outputs = arenas_.generation(kOutputs);
  arenas_.begin_trial();
  arenas_.reserve(first->plan().span + 1, 1000);
  EXPECT_GT(arenas_.generation(kInputs), generation) << "workers must map it again";
  EXPECT_EQ(arenas_.generation(kOutputs), outputs) << "and that one only";
  EXPECT_GT(arenas_.get(kInputs)->plan().span, 8u << 20);
}

TEST_F(ArenasTest, HostedArenasArePlansAndTheShelfIsStillTheJudges) {
  arenas_.begin_trial(2, true);
  arenas_.reserve(1000, 1000);
  arenas_.shelve(1000);
  EXPECT_TRUE(arenas_.hosted(kInputs) && !arenas_.hosted(kShelf));
  EXPECT_EQ(arenas_.get(kInputs, 1)->base(), nullptr);
  EXPECT_TRUE(arenas_.get(kInputs, 1)->descriptors().empty());
  EXPECT_EQ(arenas_.take(kInputs, 100, 0), 0u);
  arenas_.at(kShelf, 999, 1)[0] = std::byte{1};
  const std::uint64_t generation = arenas_.generation(kInputs);
  arenas_.begin_trial(1, false);
  arenas_.reserve(1000, 1000);
  EXPECT_NE(arenas_.at(kInputs, 0), nullptr) << "a slot of one device is lent memory again";
  EXPECT_GT(arenas_.generation(kInputs), generation) << "and workers map it";
}

TEST_F(ArenasTest, RegionsAreAlignedApartAndInsideTheArena) {
  arenas_.begin_trial();
  arenas_.reserve(1 << 20, 1 << 20);
  std::uint64_t end = 0;
  for (const std::uint64_t gap : {0u, 4096u, 28672u, 1u}) {
    const std::uint64_t at = arenas_.take(kInputs, 5000, gap);
    EXPECT_EQ(at % region_alignment, 0u);
    EXPECT_GE(at, end + gap);
    end = at + 5000;
  }
  std::memset(arenas_.at(kInputs, end - 5000), 7, 5000);
}

TEST_F(ArenasTest, ATrialThatTakesMoreThanWasReservedIsTheHarnesssFault) {
  arenas_.begin_trial();
  EXPECT_THROW((void)arenas_.take(kInputs, 1, 0), DeviceError) << "nothing was reserved";
  arenas_.reserve(1, 1);
  const std::uint64_t span = arenas_.get(kInputs)->plan().span;
  EXPECT_EQ(arenas_.take(kInputs, span, 0), 0u);
  EXPECT_THROW((void)arenas_.take(kInputs, 1, 0), DeviceError);
}

TEST_F(ArenasTest, FencedChunksHaveHolesAsLargeAsThemselvesOnBothSides) {
  arenas_.begin_trial();
  std::vector<Chunk> chunks;
  for (int i = 0; i < 24; ++i) chunks.push_back(arenas_.take_fenced(kFencedInputs, 300'000));
  EXPECT_THROW((void)arenas_.take_fenced(kFencedInputs, 300'000), DeviceError);
  const std::uint64_t span = arenas_.get(kFencedInputs)->plan().span;
  std::uint64_t end = 0;
  for (const Chunk& c : chunks) {
    EXPECT_GE(c.bytes, 300'000u);
    EXPECT_EQ(c.bytes % memory_->granularity(), 0u);
    EXPECT_GE(c.offset, end + c.bytes) << "a stride up to a chunk's size lands in the hole";
    end = c.offset + c.bytes;
    arenas_.at(kFencedInputs, c.offset)[c.bytes - 1] = std::byte{1};
  }
  EXPECT_GE(span, end + chunks[0].bytes);
  const std::uint64_t generation = arenas_.generation(kFencedInputs);
  arenas_.begin_trial();
  (void)arenas_.take_fenced(kFencedInputs, 10);
  EXPECT_EQ(arenas_.generation(kFencedInputs), generation) << "a smaller tensor reuses the chunks";
  EXPECT_THROW((void)arenas_.take_fenced(kFencedInputs, 1 << 20), DeviceError) << "offsets are held: it must not move";
  arenas_.begin_trial();
  (void)arenas_.take_fenced(kFencedInputs, 1 << 20);
  EXPECT_GT(arenas_.generation(kFencedInputs), generation);
}

using ArenasDeathTest = ArenasTest;

TEST_F(ArenasDeathTest, TheHoleBesideAFencedChunkFaults) {
  arenas_.begin_trial();
  const Chunk chunk = arenas_.take_fenced(kFencedOutputs, 4096);
  volatile std::byte* first = arenas_.at(kFencedOutputs, chunk.offset);
  first[0] = std::byte{1};
  first[chunk.bytes - 1] = std::byte{1};
  EXPECT_DEATH(first[chunk.bytes] = std::byte{1}, "");
  EXPECT_DEATH(*(first - 1) = std::byte{1}, "");
}

TEST_F(ArenasTest, FarRowsLieAPitchApartWithOnlyTheirPagesMapped) {
  arenas_.begin_trial();
  constexpr std::uint64_t pitch = (1ULL << 33) + (1ULL << 22);
  const std::uint32_t id = arenas_.take_far(4, pitch, 9000);
  EXPECT_EQ(id, static_cast<std::uint32_t>(kFar));
  const ArenaPlan& plan = arenas_.get(id)->plan();
  ASSERT_EQ(plan.chunks.size(), 4u);
  std::uint64_t mapped = 0;
  for (std::uint64_t r = 0; r < 4; ++r) {
    EXPECT_EQ(plan.chunks[r].offset, r * pitch);
    mapped += plan.chunks[r].bytes;
    arenas_.at(id, r * pitch)[8999] = std::byte{1};
  }
  EXPECT_LE(mapped, 4u * 12288u) << "64-bit offsets without 64-bit memory";
  EXPECT_NE(arenas_.take_far(4, pitch, 9000), id) << "each far tensor has an arena of its own";
  const std::uint64_t generation = arenas_.generation(id);
  arenas_.begin_trial();
  EXPECT_EQ(arenas_.take_far(4, pitch, 9000), id);
  EXPECT_EQ(arenas_.generation(id), generation) << "the same plan is not made anew";
  arenas_.begin_trial();
  EXPECT_EQ(arenas_.take_far(5, pitch, 9000), id);
  EXPECT_GT(arenas_.generation(id), generation);
}

TEST_F(ArenasTest, InputsAreReadOnlyAndAFarArenaThatChangesSidesIsMappedAgain) {
  EXPECT_TRUE(arenas_.read_only(kInputs));
  EXPECT_TRUE(arenas_.read_only(kFencedInputs));
  EXPECT_FALSE(arenas_.read_only(kOutputs));
  EXPECT_FALSE(arenas_.read_only(kFencedOutputs));
  arenas_.begin_trial();
  const std::uint32_t id = arenas_.take_far(2, 1 << 20, 100);
  arenas_.far_is_output(id, false);
  EXPECT_TRUE(arenas_.read_only(id));
  const std::uint64_t generation = arenas_.generation(id);
  arenas_.far_is_output(id, true);
  EXPECT_FALSE(arenas_.read_only(id));
  EXPECT_NE(arenas_.generation(id), generation);
}

}  // namespace
}  // namespace assay
