// Each wrong entry is visible through outputs, statuses or verdicts, in the drives that look for it; right entries are
// not. The drives here are the shortest form of those in harness/drive.
#include <array>
#include <string>
#include <vector>

#include "harness/device/host/host_test_kit.hpp"

namespace assay::host {
namespace {

constexpr std::uint32_t cells = 8;
using Cells = std::array<float, cells>;

struct Doubling {
  const float* x;
  float* out;
};
void twice(const void* raw, std::uint32_t block, std::uint32_t) {
  const auto* args = static_cast<const Doubling*>(raw);
  args->out[block] = 2 * args->x[block];
}
assay_status launch(const assay_call* call, assay_host_stream* on, const float* x, float* out) {
  const Doubling args{x, out};
  return call->host->launch(on, twice, cells, &args, sizeof args);
}
// first and second are streams: what the second does next waits for what the first did.
void order(const assay_call* call, assay_host_stream* first, assay_host_stream* second) {
  assay_host_event* mark = nullptr;
  call->host->event_create(&mark);
  call->host->event_record(mark, first);
  call->host->stream_wait(second, mark);
  call->host->event_destroy(mark);
}

using Entry = assay_status (*)(const assay_call*, const float* x, float* out);

assay_status right(const assay_call* call, const float* x, float* out) {
  return launch(call, call->host_stream, x, out);
}
assay_status right_on_a_side_stream(const assay_call* call, const float* x, float* out) {
  assay_host_stream* side = nullptr;
  call->host->stream_create(&side);
  order(call, call->host_stream, side);
  const assay_status status = launch(call, side, x, out);
  order(call, side, call->host_stream);
  call->host->stream_destroy(side);
  return status;
}
assay_status works_in_the_entry(const assay_call*, const float* x, float* out) {
  for (std::uint32_t i = 0; i < cells; ++i) out[i] = 2 * x[i];
  return ASSAY_OK;
}
assay_status launches_on_null(const assay_call* call, const float* x, float* out) {
  return launch(call, nullptr, x, out);
}
assay_status does_not_join(const assay_call* call, const float* x, float* out) {
  assay_host_stream* side = nullptr;
  call->host->stream_create(&side);
  order(call, call->host_stream, side);
  const assay_status status = launch(call, side, x, out);
  call->host->stream_destroy(side);
  return status;
}
assay_status does_not_fork(const assay_call* call, const float* x, float* out) {
  assay_host_stream* side = nullptr;
  call->host->stream_create(&side);
  const assay_status status = launch(call, side, x, out);
  order(call, side, call->host_stream);
  call->host->stream_destroy(side);
  return status;
}
assay_status waits_in_the_wrong_direction(const assay_call* call, const float* x, float* out) {
  assay_host_stream* side = nullptr;
  call->host->stream_create(&side);
  order(call, side, call->host_stream);
  const assay_status status = launch(call, side, x, out);
  order(call, call->host_stream, side);
  call->host->stream_destroy(side);
  return status;
}
assay_status synchronises(const assay_call* call, const float* x, float* out) {
  const assay_status status = launch(call, call->host_stream, x, out);
  call->host->synchronize(call->host_stream);
  return status;
}
assay_status allocates_and_releases(const assay_call* call, const float* x, float* out) {
  void* memory = nullptr;
  call->host->allocate(&memory, 64);
  const assay_status status = launch(call, call->host_stream, x, out);
  if (memory != nullptr) call->host->release(memory);
  return status;
}
assay_status allocates_and_keeps(const assay_call* call, const float* x, float* out) {
  static void* memory = nullptr;
  if (call->host->allocate(&memory, 64) != ASSAY_OK) memory = nullptr;
  return launch(call, call->host_stream, x, out);
}
assay_status launches_nothing(const assay_call* call, const float* x, float* out) {
  const Doubling args{x, out};
  call->host->launch(call->host_stream, twice, 0, &args, sizeof args);
  return ASSAY_OK;
}

class Entries : public HostTest {
 protected:
  static Cells doubled(const Cells& x) {
    Cells out;
    for (std::uint32_t i = 0; i < cells; ++i) out[i] = 2 * x[i];
    return out;
  }
  static Cells values(float first) {
    Cells x;
    for (std::uint32_t i = 0; i < cells; ++i) x[i] = first + static_cast<float>(i);
    return x;
  }

  // The call is made behind a hold, its input is written behind that hold, too.
  std::string late_producer(Entry entry) {
    const Cells fresh = values(3), poison = values(-100);
    Cells x = values(50), out = poison, at_sync;
    EXPECT_TRUE(device_->hold(0).ok());
    EXPECT_TRUE(device_->copy(0, x.data(), fresh.data(), sizeof x).ok());
    const assay_call bound = call();
    std::string seen;
    if (entry(&bound, x.data(), out.data()) != ASSAY_OK) seen += "status ";
    if (const StepCode code = verdict(); code != StepCode::ok) seen += std::string(name_of(code)) + ' ';
    if (out != poison) seen += "wrote_while_held ";
    EXPECT_TRUE(device_->unhold(0).ok());
    EXPECT_TRUE(device_->sync(0).ok());
    at_sync = out;
    EXPECT_TRUE(device_->sync_device().ok());
    if (at_sync != doubled(fresh)) seen += "output ";
    if (at_sync != out) seen += "wrote_after_sync ";
    return seen;
  }

  // Capture at one input, then two replays at others from poisoned outputs.
  std::string capture_replay(Entry entry) {
    const Cells poison = values(-100);
    Cells x = values(50), out = poison;
    const assay_call bound = call();
    std::string seen;
    GraphInventory inventory;
    EXPECT_TRUE(device_->begin_capture(0, CaptureMode::global).ok());
    if (entry(&bound, x.data(), out.data()) != ASSAY_OK) seen += "status ";
    const StepCode ended = device_->end_capture(0, 0, inventory).code;
    EXPECT_TRUE(device_->sync_device().ok());
    if (out != poison) seen += "ran_at_capture ";
    if (const StepCode code = verdict(); code != StepCode::ok) seen += std::string(name_of(code)) + ' ';
    if (ended != StepCode::ok) return seen + std::string(name_of(ended)) + ' ';
    for (const float first : {1.0f, 2.0f}) {
      x = values(first);
      out = poison;
      EXPECT_TRUE(device_->launch(0, 0).ok());
      EXPECT_TRUE(device_->sync(0).ok());
      if (out != doubled(x)) seen += "replay ";
    }
    EXPECT_TRUE(device_->drop_graph(0).ok());
    return seen;
  }

  struct Findings {
    std::string late, early, capture_late, capture_early;
  };
  Findings findings(Entry entry) {
    Findings all;
    for (const bool early : {false, true}) {
      device_->schedule({.early = early, .block_seed = 17});
      (early ? all.early : all.late) = late_producer(entry);
      (early ? all.capture_early : all.capture_late) = capture_replay(entry);
      EXPECT_TRUE(device_->reset().ok());
    }
    return all;
  }
};

#define EXPECT_FINDINGS(entry, in_late, in_early, in_capture_late, in_capture_early) \
  do {                                                                               \
    const Findings found = findings(entry);                                          \
    EXPECT_EQ(found.late, in_late);                                                  \
    EXPECT_EQ(found.early, in_early);                                                \
    EXPECT_EQ(found.capture_late, in_capture_late);                                  \
    EXPECT_EQ(found.capture_early, in_capture_early);                                \
  } while (false)

TEST_F(Entries, ARightEntryShowsNothing) { EXPECT_FINDINGS(right, "", "", "", ""); }

TEST_F(Entries, AForkedAndJoinedSideStreamShowsNothing) { EXPECT_FINDINGS(right_on_a_side_stream, "", "", "", ""); }

TEST_F(Entries, WorkDoneInTheEntryIsSeen) {
  EXPECT_FINDINGS(works_in_the_entry, "wrote_while_held output ", "wrote_while_held output ",
                  "ran_at_capture capture_empty ", "ran_at_capture capture_empty ");
}

TEST_F(Entries, ALaunchOnTheLegacyStreamIsSeen) {
  EXPECT_FINDINGS(launches_on_null, "wrote_while_held output ", "wrote_while_held output ",
                  "ran_at_capture capture_empty ", "ran_at_capture capture_empty ");
}

// Early order hides it: only late order and capture show it.
TEST_F(Entries, ASideStreamThatIsNotJoinedIsSeen) {
  EXPECT_FINDINGS(does_not_join, "output wrote_after_sync ", "", "capture_unjoined ", "capture_unjoined ");
}

// Late order hides it: the join demands the side stream when the input is there already.
TEST_F(Entries, ASideStreamThatDoesNotWaitForTheCallsStreamIsSeen) {
  EXPECT_FINDINGS(does_not_fork, "", "wrote_while_held output ", "ran_at_capture capture_illegal ",
                  "ran_at_capture capture_illegal ");
}

TEST_F(Entries, AWaitInTheWrongDirectionIsSeen) {
  EXPECT_FINDINGS(waits_in_the_wrong_direction, "output wrote_after_sync ", "wrote_while_held output ",
                  "ran_at_capture capture_illegal ", "ran_at_capture capture_illegal ");
}

TEST_F(Entries, ASynchronisationIsSeen) {
  EXPECT_FINDINGS(synchronises, "synchronised_held ", "synchronised_held ", "capture_illegal ", "capture_illegal ");
}

TEST_F(Entries, AnAllocationInCaptureIsSeen) {
  EXPECT_FINDINGS(allocates_and_keeps, "", "", "capture_illegal ", "capture_illegal ");
}

TEST_F(Entries, AReleaseWaitsForAllStreamsAndIsSeen) {
  EXPECT_FINDINGS(allocates_and_releases, "synchronised_held ", "synchronised_held ", "capture_illegal ",
                  "capture_illegal ");
}

TEST_F(Entries, ALaunchOfNoBlocksIsSeenThoughTheEntryHidesItsStatus) {
  EXPECT_FINDINGS(launches_nothing, "launch_invalid output ", "launch_invalid output ", "launch_invalid capture_empty ",
                  "launch_invalid capture_empty ");
}

// Blocks that write one cell too many: in ascending order the next block repairs it.
void overlaps(const void* raw, std::uint32_t block, std::uint32_t blocks) {
  const auto* args = static_cast<const Doubling*>(raw);
  args->out[block] = 2 * args->x[block];
  if (block + 1 < blocks) args->out[block + 1] = 0;
}

TEST_F(Entries, AnOverlapOfBlocksIsInvisibleInOrderAndSeenWhenShuffled) {
  const Cells x = values(1);
  Cells out{};
  const Doubling args{x.data(), out.data()};
  for (const std::uint64_t seed : {0, 1, 2, 3, 4, 5, 6, 7, 8}) {
    device_->schedule({.block_seed = seed});
    EXPECT_EQ(api().launch(stream(0), overlaps, cells, &args, sizeof args), ASSAY_OK);
    EXPECT_TRUE(device_->sync(0).ok());
    EXPECT_EQ(out == doubled(x), seed == 0) << seed;
  }
}

}  // namespace
}  // namespace assay::host
