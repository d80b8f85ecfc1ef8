// Members of a group as threads: meetings under skew, mailboxes that nobody overwrites too early, the abort word.
#include "harness/rank/segment.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "harness/device/memory.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

TEST(Segment, WhatWasWrittenBeforeAMeetingIsReadAfterItByAllUnderSkew) {
  constexpr int world = 3, meetings = 400;
  Segment segment(world);
  std::atomic<int> wrong{0};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank)
    ranks.emplace_back([&, rank] {
      Segment mine(world, segment.descriptor());  // a mapping of its own, as another process has
      for (std::uint64_t m = 0; m < meetings; ++m) {
        if ((m * 7 + static_cast<std::uint64_t>(rank) * 3) % 11 == 0) std::this_thread::sleep_for(microseconds(50));
        const std::uint64_t word = m * 100 + static_cast<std::uint64_t>(rank);
        std::memcpy(mine.mailbox(m, rank), &word, sizeof word);
        mine.announcement(m, rank) = {1, 2, m};
        if (!mine.meet()) ++wrong;
        for (int other = 0; other < world; ++other) {
          std::uint64_t read = 0;
          std::memcpy(&read, mine.mailbox(m, other), sizeof read);
          wrong += read != m * 100 + static_cast<std::uint64_t>(other) || mine.announcement(m, other).count != m;
        }
      }
    });
  for (std::thread& t : ranks) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Segment, AGroupOfOneMeetsAlone) {
  Segment segment(1);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(segment.meet());
}

TEST(Segment, TheAbortWordEndsEveryWaitWithinAMillisecond) {
  double fastest_ms = 1e9;  // a busy machine wakes threads late; the mechanism is what is timed
  for (int round = 0; round < 20; ++round) {
    Segment segment(4);
    std::vector<std::thread> waiting;
    std::atomic<int> came_back{0};
    std::atomic<std::int64_t> last{0};
    for (int rank = 0; rank < 3; ++rank)  // the fourth never comes
      waiting.emplace_back([&] {
        came_back += !Segment(4, segment.descriptor()).meet();
        last = Clock::now().time_since_epoch().count();
      });
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    const auto raised = Clock::now();
    segment.abort();
    for (std::thread& t : waiting) t.join();
    const Clock::duration took = Clock::duration(last) - raised.time_since_epoch();
    fastest_ms = std::min(fastest_ms, std::chrono::duration<double, std::milli>(took).count());
    EXPECT_EQ(came_back, 3);
    EXPECT_FALSE(segment.meet()) << "a group that was aborted does not meet again";
  }
  EXPECT_LT(fastest_ms, 1);
}

TEST(Segment, SymmetricMemoryIsZeroedAndEachRanksOwn) {
  Segment segment(2), member(2, segment.descriptor());
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(segment.symmetric(rank)[kSymmetricBytes - 1], std::byte{0});
  member.symmetric(1)[5] = std::byte{9};
  EXPECT_EQ(segment.symmetric(1)[5], std::byte{9});
  EXPECT_EQ(segment.symmetric(0)[5], std::byte{0});
}

TEST(Segment, AnotherMemoryFileIsRefused) {
  Segment of_two(2);
  EXPECT_THROW(Segment(3, of_two.descriptor()), DeviceError);
  EXPECT_THROW(Segment(2, -1), DeviceError);
}

}  // namespace
}  // namespace assay
