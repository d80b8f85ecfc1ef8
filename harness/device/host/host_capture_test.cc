#include <array>
#include <thread>

#include "harness/device/host/host_test_kit.hpp"

namespace assay::host {
namespace {

class Captures : public HostTest {
 protected:
  void begin(CaptureMode mode = CaptureMode::global) { ASSERT_TRUE(device_->begin_capture(0, mode).ok()); }
  StepCode end(std::uint32_t graph = 0) { return device_->end_capture(0, graph, inventory_).code; }
  std::string replay(std::uint32_t graph = 0) {
    forget();
    EXPECT_TRUE(device_->launch(graph, 0).ok());
    EXPECT_TRUE(device_->sync(0).ok());
    return trace();
  }
  GraphInventory inventory_;
};

TEST_F(Captures, NothingRunsAtCaptureAndEveryReplayRunsAll) {
  for (const bool early : {false, true}) {
    device_->schedule({.early = early});
    forget();
    begin();
    note(stream(0), 'a');
    note(stream(0), 'b');
    EXPECT_EQ(end(), StepCode::ok);
    EXPECT_TRUE(device_->sync_device().ok());
    EXPECT_EQ(trace(), "");
    EXPECT_EQ(inventory_.nodes, 2u);
    EXPECT_EQ(inventory_.kernels, 2u);
    EXPECT_EQ(replay(), "ab");
    EXPECT_EQ(replay(), "ab");
  }
}

TEST_F(Captures, AReplayIsOneOperationInTheQueue) {
  begin();
  note(stream(0), 'g');
  EXPECT_EQ(end(), StepCode::ok);
  note(stream(0), 'a');
  EXPECT_TRUE(device_->launch(0, 0).ok());
  note(stream(0), 'b');
  EXPECT_TRUE(device_->drop_graph(0).ok());
  EXPECT_EQ(trace(), "");
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(trace(), "agb");
  EXPECT_EQ(device_->launch(0, 0).code, StepCode::infrastructure);
}

TEST_F(Captures, AHeldStreamHoldsTheReplay) {
  begin();
  note(stream(0), 'g');
  EXPECT_EQ(end(), StepCode::ok);
  device_->schedule({.early = true});
  EXPECT_TRUE(device_->hold(0).ok());
  EXPECT_TRUE(device_->launch(0, 0).ok());
  EXPECT_EQ(trace(), "");
  EXPECT_TRUE(device_->unhold(0).ok());
  EXPECT_EQ(trace(), "g");
}

TEST_F(Captures, AJoinedSideStreamIsCapturedAndItsDependenciesHoldInBothSchedules) {
  for (const bool early : {false, true}) {
    device_->schedule({.early = early});
    forget();
    assay_host_stream* other = side();
    begin();
    note(stream(0), 'a');
    join(other, stream(0));
    note(other, 'x');
    note(stream(0), 'b');
    join(stream(0), other);
    note(stream(0), 'c');
    EXPECT_EQ(end(), StepCode::ok);
    EXPECT_EQ(trace(), "");
    EXPECT_EQ(replay(), early ? "axbc" : "abxc");
    forget();
    note(other, 'y');
    EXPECT_EQ(api().synchronize(other), ASSAY_OK) << "the capture kept the side stream";
    EXPECT_EQ(trace(), "y");
  }
}

TEST_F(Captures, ASideStreamThatIsNotJoinedBackFailsTheCapture) {
  assay_host_stream* other = side();
  begin();
  note(stream(0), 'a');
  join(other, stream(0));
  note(other, 'x');
  note(stream(0), 'b');
  EXPECT_EQ(end(), StepCode::capture_unjoined);
  EXPECT_EQ(device_->launch(0, 0).code, StepCode::infrastructure);
}

TEST_F(Captures, WorkAfterTheJoinIsUnjoinedAgainAndDestroyingTheStreamHidesNothing) {
  assay_host_stream* other = side();
  begin();
  note(stream(0), 'a');
  join(other, stream(0));
  note(other, 'x');
  join(stream(0), other);
  note(other, 'y');
  EXPECT_EQ(api().stream_destroy(other), ASSAY_OK);
  EXPECT_EQ(end(), StepCode::capture_unjoined);
}

TEST_F(Captures, AChainOfSideStreamsIsJoinedThroughTheLast) {
  assay_host_stream *x = side(), *y = side();
  begin();
  join(x, stream(0));
  note(x, 'x');
  join(y, x);
  note(y, 'y');
  join(stream(0), y);
  EXPECT_EQ(end(), StepCode::ok);
  EXPECT_EQ(replay(), "xy");
}

TEST_F(Captures, WorkOnAStreamOutsideTheCaptureIsNotCaptured) {
  assay_host_stream* other = side();
  begin();
  note(stream(0), 'a');
  note(other, 'x');
  EXPECT_EQ(end(), StepCode::ok);
  EXPECT_EQ(inventory_.nodes, 1u);
  EXPECT_EQ(replay(), "a");
  EXPECT_TRUE(device_->sync_device().ok());
  EXPECT_EQ(trace(), "ax");
}

TEST_F(Captures, AFailedCaptureLeavesNoGraphOfAnEarlierOne) {
  begin();
  note(stream(0), 'a');
  EXPECT_EQ(end(), StepCode::ok);
  begin();
  EXPECT_EQ(end(), StepCode::capture_empty);
  EXPECT_EQ(device_->launch(0, 0).code, StepCode::infrastructure);
}

TEST_F(Captures, AnAbandonedCaptureIsOverAndMakesNoGraph) {
  begin();
  note(stream(0), 'a');
  device_->abandon_captures();
  note(stream(0), 'b');
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(trace(), "b");
  EXPECT_EQ(device_->launch(0, 0).code, StepCode::infrastructure);
  device_->abandon_captures();
}

TEST_F(Captures, AnEmptyCaptureFails) {
  begin();
  EXPECT_EQ(end(), StepCode::capture_empty);
}

TEST_F(Captures, AllocatingReleasingAndSynchronisingInvalidateThemInEveryMode) {
  void* memory = nullptr;
  EXPECT_EQ(api().allocate(&memory, 16), ASSAY_OK);
  assay_host_stream* other = side();
  for (const CaptureMode mode : {CaptureMode::global, CaptureMode::thread_local_, CaptureMode::relaxed}) {
    void* more = nullptr;
    begin(mode);
    note(stream(0), 'a');
    EXPECT_EQ(api().allocate(&more, 16), ASSAY_ERROR);
    EXPECT_EQ(end(), StepCode::capture_illegal);
    begin(mode);
    EXPECT_EQ(api().release(memory), ASSAY_ERROR);
    EXPECT_EQ(end(), StepCode::capture_illegal);
    for (assay_host_stream* which : {stream(0), other, static_cast<assay_host_stream*>(nullptr)}) {
      begin(mode);
      EXPECT_EQ(api().synchronize(which), ASSAY_ERROR);
      EXPECT_EQ(end(), StepCode::capture_illegal);
    }
  }
  EXPECT_EQ(verdict(), StepCode::ok);
  EXPECT_EQ(api().release(memory), ASSAY_OK);
}

TEST_F(Captures, OtherThreadsAreRestrictedByAGlobalCaptureOnly) {
  const assay_host_api& table = api();
  const auto allocates = [&] {
    assay_status status = ASSAY_ERROR;
    std::jthread([&] {
      void* memory = nullptr;
      status = table.allocate(&memory, 16);
    }).join();
    return status;
  };
  begin(CaptureMode::thread_local_);
  note(stream(0), 'a');
  EXPECT_EQ(allocates(), ASSAY_OK);
  EXPECT_EQ(end(), StepCode::ok);
  begin(CaptureMode::global);
  note(stream(0), 'a');
  EXPECT_EQ(allocates(), ASSAY_ERROR);
  EXPECT_EQ(end(), StepCode::capture_illegal);
}

TEST_F(Captures, CreatingAndDestroyingStreamsAndEventsIsLegal) {
  begin();
  assay_host_stream* other = side();
  join(other, stream(0));
  note(other, 'x');
  join(stream(0), other);
  EXPECT_EQ(api().stream_destroy(other), ASSAY_OK);
  EXPECT_EQ(end(), StepCode::ok);
  EXPECT_EQ(replay(), "x");
}

TEST_F(Captures, TheLegacyStreamRunsAtOnceAndCannotJoin) {
  begin();
  note(stream(0), 'a');
  note(nullptr, 'l');
  EXPECT_EQ(trace(), "l");
  EXPECT_EQ(end(), StepCode::ok);
  EXPECT_EQ(replay(), "a");
  begin();
  note(stream(0), 'a');
  assay_host_event* mark = event();
  EXPECT_EQ(api().event_record(mark, stream(0)), ASSAY_OK);
  EXPECT_EQ(api().stream_wait(nullptr, mark), ASSAY_ERROR);
  EXPECT_EQ(end(), StepCode::capture_illegal);
}

TEST_F(Captures, AnEventFromOutsideInvalidatesAndOneFromAnEndedCaptureIsRefused) {
  assay_host_stream* other = side();
  assay_host_event *outside = event(), *inside = event();
  EXPECT_EQ(api().event_record(outside, other), ASSAY_OK);
  begin();
  note(stream(0), 'a');
  EXPECT_EQ(api().stream_wait(stream(0), outside), ASSAY_ERROR);
  EXPECT_EQ(end(), StepCode::capture_illegal);

  begin();
  note(stream(0), 'a');
  EXPECT_EQ(api().event_record(inside, stream(0)), ASSAY_OK);
  EXPECT_EQ(end(), StepCode::ok);
  EXPECT_EQ(api().stream_wait(other, inside), ASSAY_ERROR);
  EXPECT_EQ(verdict(), StepCode::launch_invalid);
  begin();
  note(stream(0), 'a');
  EXPECT_EQ(api().stream_wait(stream(0), inside), ASSAY_ERROR);
  EXPECT_EQ(end(), StepCode::capture_illegal);
}

TEST_F(Captures, TwoCapturesCannotBeMixed) {
  begin();
  ASSERT_TRUE(device_->begin_capture(1, CaptureMode::global).ok());
  note(stream(0), 'a');
  note(stream(1), 'b');
  assay_host_event* mark = event();
  EXPECT_EQ(api().event_record(mark, stream(0)), ASSAY_OK);
  EXPECT_EQ(api().stream_wait(stream(1), mark), ASSAY_ERROR);
  EXPECT_EQ(end(), StepCode::capture_illegal);
  EXPECT_EQ(device_->end_capture(1, 1, inventory_).code, StepCode::capture_illegal);
}

TEST_F(Captures, ReplaysAreUnaffectedByScribbledAndRewrittenArguments) {
  struct Args {
    int* out;
    int value;
  };
  int result = 0;
  Args args{&result, 7};
  // A candidate that writes into its (const) argument block changes this run only.
  const auto kernel = [](const void* raw, std::uint32_t, std::uint32_t) {
    auto* mine = static_cast<Args*>(const_cast<void*>(raw));
    *mine->out += mine->value;
    mine->value = 1000;
  };
  begin();
  EXPECT_EQ(api().launch(stream(0), kernel, 1, &args, sizeof args), ASSAY_OK);
  EXPECT_EQ(end(), StepCode::ok);
  args = {nullptr, -1};
  replay();
  replay();
  EXPECT_EQ(result, 14);
}

TEST_F(Captures, EachLaunchOfEachReplayRunsItsBlocksInAFreshOrder) {
  device_->schedule({.block_seed = 4});
  static std::string blocks;
  const auto kernel = [](const void*, std::uint32_t block, std::uint32_t) { blocks += static_cast<char>('a' + block); };
  begin();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(api().launch(stream(0), kernel, 16, nullptr, 0), ASSAY_OK);
  EXPECT_EQ(end(), StepCode::ok);
  const auto order = [&] {
    blocks.clear();
    replay();
    return blocks;
  };
  const std::string first = order(), second = order();
  EXPECT_NE(first, second);
  EXPECT_EQ(first.size(), 32u);
  EXPECT_NE(first.substr(0, 16), first.substr(16));
}

TEST_F(Captures, TrustedWorkIsCapturedToo) {
  std::array<std::uint32_t, 2> cells{}, seen{};
  begin();
  EXPECT_TRUE(device_->fill(0, cells.data(), 0xA5A5A5A5, 4, 2).ok());
  EXPECT_TRUE(device_->copy(0, seen.data(), cells.data(), sizeof cells).ok());
  EXPECT_EQ(end(), StepCode::ok);
  EXPECT_EQ(seen[1], 0u);
  EXPECT_EQ(inventory_.copies, 2u);
  EXPECT_EQ(inventory_.kernels, 0u);
  replay();
  EXPECT_EQ(seen[1], 0xA5A5A5A5);
}

TEST_F(Captures, AGraphKeepsTheScratchOfItsCapture) {
  void *captured = nullptr, *eager = nullptr;
  begin();
  note(stream(0), 'a');
  EXPECT_TRUE(device_->scratch(64, &captured).ok());
  EXPECT_EQ(end(), StepCode::ok);
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 20}) {
    EXPECT_TRUE(device_->scratch(bytes, &eager).ok());
    EXPECT_NE(eager, captured);
  }
  EXPECT_TRUE(device_->drop_graph(0).ok());
  EXPECT_TRUE(device_->scratch(64, &eager).ok());
  EXPECT_EQ(eager, captured);
}

TEST_F(Captures, ProgramStepsThatMakeNoSenseInCaptureAreTheProgramsFault) {
  begin();
  note(stream(0), 'a');
  EXPECT_EQ(device_->begin_capture(0, CaptureMode::global).code, StepCode::infrastructure);
  EXPECT_EQ(device_->sync(0).code, StepCode::infrastructure);
  EXPECT_EQ(device_->sync_device().code, StepCode::infrastructure);
  EXPECT_EQ(device_->hold(0).code, StepCode::infrastructure);
  EXPECT_EQ(device_->end_capture(1, 0, inventory_).code, StepCode::infrastructure);
  EXPECT_EQ(end(), StepCode::ok) << "the program's own mistakes spoil no capture";
  begin();
  EXPECT_EQ(device_->launch(0, 0).code, StepCode::unsupported);
  EXPECT_EQ(end(1), StepCode::capture_empty);
  EXPECT_EQ(replay(), "a");
}

TEST_F(Captures, ResetAbandonsAnOpenCapture) {
  begin();
  note(stream(0), 'a');
  EXPECT_TRUE(device_->reset().ok());
  EXPECT_EQ(trace(), "");
  note(stream(0), 'b');
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(trace(), "b");
}

}  // namespace
}  // namespace assay::host
