#include "harness/device/host/host_device.hpp"

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "harness/device/host/host_test_kit.hpp"

namespace assay::host {
namespace {

class Queues : public HostTest {};

TEST_F(Queues, LateRunsNothingBeforeASynchronisation) {
  note(stream(0), 'a');
  note(stream(0), 'b');
  EXPECT_EQ(trace(), "");
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(trace(), "ab");
}

TEST_F(Queues, EarlyRunsAtLaunch) {
  device_->schedule({.early = true});
  note(stream(0), 'a');
  EXPECT_EQ(trace(), "a");
}

TEST_F(Queues, LateSyncOfOneStreamRunsOnlyWhatItDependsOn) {
  assay_host_stream* other = side();
  note(other, 'x');
  join(stream(0), other);
  note(other, 'y');
  note(stream(0), 'a');
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(trace(), "xa");
  EXPECT_TRUE(device_->sync_device().ok());
  EXPECT_EQ(trace(), "xay");
}

TEST_F(Queues, EarlySideStreamRunsBeforeTheStreamThatFreedIt) {
  device_->schedule({.early = true});
  EXPECT_TRUE(device_->hold(0).ok());
  assay_host_stream* other = side();
  note(stream(0), 'a');
  join(other, stream(0));
  note(other, 'x');
  note(stream(0), 'b');
  EXPECT_EQ(trace(), "");
  EXPECT_TRUE(device_->unhold(0).ok());
  EXPECT_EQ(trace(), "axb");
}

TEST_F(Queues, ADependencyHoldsInBothSchedules) {
  for (const bool early : {false, true}) {
    device_->schedule({.early = early});
    forget();
    EXPECT_TRUE(device_->hold(0).ok());
    note(stream(0), 'a');
    assay_host_stream* other = side();
    join(other, stream(0));
    note(other, 'x');
    join(stream(0), other);
    note(stream(0), 'b');
    EXPECT_TRUE(device_->unhold(0).ok());
    EXPECT_TRUE(device_->sync(0).ok());
    EXPECT_EQ(trace(), "axb") << early;
  }
}

TEST_F(Queues, AnUnjoinedSideStreamIsMissingInLateAndRunsInEarly) {
  note(side(), 'x');
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(trace(), "");
  device_->schedule({.early = true});
  note(side(), 'y');
  EXPECT_EQ(trace(), "xy");
}

TEST_F(Queues, LateSyncOfTheDeviceLeavesSideStreamsToTheEnd) {
  note(side(), 'x');
  note(stream(0), 'a');
  note(stream(1), 'b');
  EXPECT_TRUE(device_->sync_device().ok());
  EXPECT_EQ(trace(), "abx");
}

TEST_F(Queues, WaitingForAnEventThatWasNeverRecordedIsNothing) {
  EXPECT_EQ(api().stream_wait(stream(0), event()), ASSAY_OK);
  note(stream(0), 'a');
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(trace(), "a");
}

TEST_F(Queues, AWaitMeansTheRecordBeforeItAndNotALaterOne) {
  assay_host_event* mark = event();
  assay_host_stream* other = side();
  EXPECT_EQ(api().event_record(mark, other), ASSAY_OK);
  EXPECT_EQ(api().stream_wait(stream(0), mark), ASSAY_OK);
  note(other, 'x');
  EXPECT_EQ(api().event_record(mark, other), ASSAY_OK);
  note(stream(0), 'a');
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(trace(), "a");
}

TEST_F(Queues, ADestroyedStreamStillRunsWhatItHeld) {
  assay_host_stream* other = side();
  note(other, 'x');
  join(stream(0), other);
  EXPECT_EQ(api().stream_destroy(other), ASSAY_OK);
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(trace(), "x");
}

TEST_F(Queues, ArgumentsAreCopiedAtLaunch) {
  struct Args {
    int* out;
    int value;
  };
  int result = 0;
  Args args{&result, 7};
  const auto kernel = [](const void* raw, std::uint32_t, std::uint32_t) {
    const auto* a = static_cast<const Args*>(raw);
    *a->out = a->value;
  };
  EXPECT_EQ(api().launch(stream(0), kernel, 1, &args, sizeof args), ASSAY_OK);
  args = {nullptr, 8};
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(result, 7);
}

TEST_F(Queues, ArgumentsAreAlignedForVectorTypes) {
  struct alignas(64) Args {
    std::uintptr_t* out;
  };
  std::uintptr_t address = 1;
  const Args args{&address};
  const auto kernel = [](const void* raw, std::uint32_t, std::uint32_t) {
    *static_cast<const Args*>(raw)->out = reinterpret_cast<std::uintptr_t>(raw);
  };
  EXPECT_EQ(api().launch(stream(0), kernel, 1, &args, sizeof args), ASSAY_OK);
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(address % 64, 0u);
}

TEST_F(Queues, TrustedCopiesAndFillsKeepTheirPlaceInTheQueue) {
  std::array<std::uint16_t, 4> cells{}, seen{};
  EXPECT_TRUE(device_->fill(0, cells.data(), 0xBEEF, 2, 4).ok());
  EXPECT_TRUE(device_->copy(0, seen.data(), cells.data(), sizeof cells).ok());
  EXPECT_TRUE(device_->fill(0, cells.data(), 0x11, 1, sizeof cells).ok());
  EXPECT_EQ(seen[3], 0);
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(seen[0], 0xBEEF);
  EXPECT_EQ(seen[3], 0xBEEF);
  EXPECT_EQ(cells[3], 0x1111);
  EXPECT_EQ(device_->fill(0, cells.data(), 0, 8, 1).code, StepCode::infrastructure);
}

TEST_F(Queues, ProgramEventsOrderProgramStreams) {
  note(stream(1), 'p');
  EXPECT_TRUE(device_->record(5, 1).ok());
  EXPECT_TRUE(device_->wait(0, 5).ok());
  note(stream(0), 'a');
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(trace(), "pa");
}

std::vector<std::uint32_t> block_trace(Device& device, const assay_call& call, std::uint32_t blocks) {
  static std::vector<std::uint32_t> seen;
  seen.clear();
  call.host->launch(
      call.host_stream, [](const void*, std::uint32_t block, std::uint32_t) { seen.push_back(block); }, blocks, nullptr,
      0);
  EXPECT_TRUE(device.sync(0).ok());
  return seen;
}

TEST_F(Queues, BlocksAreShuffledAnewPerLaunchAndTheSameWayPerSchedule) {
  std::vector<std::vector<std::uint32_t>> runs;
  for (int run = 0; run < 2; ++run) {
    device_->schedule({.block_seed = 11});
    runs.push_back(block_trace(*device_, call(), 20));
    runs.push_back(block_trace(*device_, call(), 20));
  }
  EXPECT_EQ(runs[0], runs[2]);
  EXPECT_EQ(runs[1], runs[3]);
  EXPECT_NE(runs[0], runs[1]);
}

TEST_F(Queues, LoadChangesTheInterleavingAndNothingElse) {
  device_->schedule({.block_seed = 11});
  const auto alone = block_trace(*device_, call(), 20);
  device_->schedule({.block_seed = 11});
  EXPECT_TRUE(device_->load(0).ok());
  const auto loaded = block_trace(*device_, call(), 20);
  EXPECT_NE(alone, loaded);
  EXPECT_TRUE(std::is_permutation(alone.begin(), alone.end(), loaded.begin(), loaded.end()));
  DeviceUsage usage;
  EXPECT_TRUE(device_->usage(usage).ok());
  EXPECT_EQ(usage.handles, 0u);
}

class Misuse : public HostTest {};

TEST_F(Misuse, InvalidLaunchesAreErrorsAndNeverQueued) {
  const auto nothing = [](const void*, std::uint32_t, std::uint32_t) { FAIL() << "an invalid launch ran"; };
  EXPECT_EQ(api().launch(stream(0), nothing, 0, nullptr, 0), ASSAY_ERROR);
  EXPECT_EQ(verdict(), StepCode::launch_invalid);
  EXPECT_EQ(api().launch(stream(0), nullptr, 1, nullptr, 0), ASSAY_ERROR);
  EXPECT_EQ(verdict(), StepCode::launch_invalid);
  EXPECT_EQ(api().launch(stream(0), nothing, 1, nullptr, 8), ASSAY_ERROR);
  EXPECT_EQ(verdict(), StepCode::launch_invalid);
  EXPECT_EQ(api().launch(reinterpret_cast<assay_host_stream*>(this), nothing, 1, nullptr, 0), ASSAY_ERROR);
  EXPECT_EQ(verdict(), StepCode::launch_invalid);
  EXPECT_EQ(verdict(), StepCode::ok);
  EXPECT_TRUE(device_->sync_device().ok());
}

TEST_F(Misuse, DeadHandlesAreFoundOut) {
  assay_host_stream* gone = side();
  EXPECT_EQ(api().stream_destroy(gone), ASSAY_OK);
  assay_host_event* mark = event();
  EXPECT_EQ(api().event_destroy(mark), ASSAY_OK);
  EXPECT_EQ(note(gone, 'x'), ASSAY_ERROR);
  EXPECT_EQ(api().stream_destroy(gone), ASSAY_ERROR);
  EXPECT_EQ(api().event_destroy(mark), ASSAY_ERROR);
  EXPECT_EQ(api().event_record(mark, stream(0)), ASSAY_ERROR);
  EXPECT_EQ(api().stream_wait(stream(0), mark), ASSAY_ERROR);
  EXPECT_EQ(api().event_record(nullptr, stream(0)), ASSAY_ERROR);
  EXPECT_EQ(api().release(this), ASSAY_ERROR);
  EXPECT_EQ(verdict(), StepCode::launch_invalid);
}

TEST_F(Misuse, HandlesOfAnEarlierProgramOrModelAreUnknown) {
  assay_host_stream* before = stream(0);
  EXPECT_TRUE(device_->reset().ok());
  EXPECT_EQ(note(before, 'x'), ASSAY_ERROR);
  const assay_host_api* table = call().host;
  assay_host_stream* mine = stream(0);
  device_.reset();
  const auto nothing = [](const void*, std::uint32_t, std::uint32_t) {};
  EXPECT_EQ(table->launch(mine, nothing, 1, nullptr, 0), ASSAY_ERROR);
  device_ = make_host_device({});
  EXPECT_EQ(table->launch(mine, nothing, 1, nullptr, 0), ASSAY_ERROR);
}

TEST_F(Misuse, TheCallsOwnStreamCannotBeDestroyed) {
  EXPECT_EQ(api().stream_destroy(stream(0)), ASSAY_ERROR);
  EXPECT_EQ(verdict(), StepCode::launch_invalid);
  EXPECT_EQ(note(stream(0), 'a'), ASSAY_OK);
}

TEST_F(Misuse, AKernelCannotCallTheApi) {
  struct Args {
    const assay_host_api* api;
    assay_host_stream* stream;
    assay_status* status;
  };
  assay_status status = ASSAY_OK;
  const Args args{&api(), stream(0), &status};
  const auto kernel = [](const void* raw, std::uint32_t, std::uint32_t) {
    const auto* a = static_cast<const Args*>(raw);
    *a->status = a->api->synchronize(a->stream);
  };
  EXPECT_EQ(api().launch(stream(0), kernel, 1, &args, sizeof args), ASSAY_OK);
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_EQ(status, ASSAY_ERROR);
  EXPECT_EQ(verdict(), StepCode::launch_invalid);
}

TEST_F(Misuse, ASecondModelInTheProcessIsRefused) {
  EXPECT_THROW(static_cast<void>(make_host_device({})), std::logic_error);
  EXPECT_EQ(note(stream(0), 'a'), ASSAY_OK);
}

class Holds : public HostTest {};

TEST_F(Holds, SynchronisingAHeldStreamFailsAtOnce) {
  for (const bool early : {false, true}) {
    device_->schedule({.early = early});
    forget();
    EXPECT_TRUE(device_->hold(0).ok());
    note(stream(0), 'a');
    EXPECT_EQ(api().synchronize(stream(0)), ASSAY_ERROR);
    EXPECT_EQ(trace(), "");
    EXPECT_EQ(verdict(), StepCode::synchronised_held);
    EXPECT_TRUE(device_->unhold(0).ok());
    EXPECT_TRUE(device_->sync(0).ok());
    EXPECT_EQ(trace(), "a");
    EXPECT_EQ(verdict(), StepCode::ok);
  }
}

TEST_F(Holds, ADependencyOnAHeldStreamIsSeen) {
  EXPECT_TRUE(device_->hold(0).ok());
  assay_host_stream* other = side();
  join(other, stream(0));
  EXPECT_EQ(api().synchronize(other), ASSAY_ERROR);
  EXPECT_EQ(verdict(), StepCode::synchronised_held);
}

TEST_F(Holds, WorkOnAStreamThatDoesNotDependOnTheHeldOneRuns) {
  EXPECT_TRUE(device_->hold(0).ok());
  assay_host_stream* other = side();
  note(other, 'x');
  EXPECT_EQ(api().synchronize(other), ASSAY_OK);
  EXPECT_EQ(trace(), "x");
  EXPECT_EQ(verdict(), StepCode::ok);
}

TEST_F(Holds, ReleaseAndTheLegacyStreamWaitForAllStreams) {
  void* memory = nullptr;
  EXPECT_EQ(api().allocate(&memory, 16), ASSAY_OK);
  for (const bool threads : {false, true}) {
    device_->schedule({.threads = threads});
    EXPECT_TRUE(device_->hold(0).ok());
    EXPECT_EQ(api().release(memory), ASSAY_ERROR);
    EXPECT_EQ(verdict(), StepCode::synchronised_held);
    EXPECT_EQ(api().synchronize(nullptr), ASSAY_ERROR);
    EXPECT_EQ(verdict(), StepCode::synchronised_held);
    EXPECT_TRUE(device_->unhold(0).ok());
  }
  note(stream(0), 'a');
  EXPECT_EQ(api().release(memory), ASSAY_OK);
  EXPECT_EQ(trace(), "a");
}

TEST_F(Holds, WhatWasQueuedBeforeTheHoldIsReachable) {
  note(stream(0), 'a');
  assay_host_event* mark = event();
  EXPECT_EQ(api().event_record(mark, stream(0)), ASSAY_OK);
  EXPECT_TRUE(device_->hold(0).ok());
  assay_host_stream* other = side();
  EXPECT_EQ(api().stream_wait(other, mark), ASSAY_OK);
  EXPECT_EQ(api().synchronize(other), ASSAY_OK);
  EXPECT_EQ(trace(), "a");
}

TEST_F(Holds, TheProgramsOwnMistakesAreNeverTheCandidates) {
  EXPECT_TRUE(device_->hold(0).ok());
  EXPECT_EQ(device_->hold(0).code, StepCode::infrastructure);
  EXPECT_EQ(device_->sync(0).code, StepCode::infrastructure);
  EXPECT_EQ(device_->sync_device().code, StepCode::infrastructure);
  EXPECT_EQ(device_->unhold(1).code, StepCode::infrastructure);
  EXPECT_EQ(device_->launch(3, 0).code, StepCode::infrastructure);
  EXPECT_EQ(device_->drop_graph(3).code, StepCode::infrastructure);
  EXPECT_EQ(verdict(), StepCode::ok);
}

TEST_F(Holds, ResetOpensThemAndRunsWhatWaited) {
  EXPECT_TRUE(device_->hold(0).ok());
  note(stream(0), 'a');
  EXPECT_EQ(api().synchronize(stream(0)), ASSAY_ERROR);
  EXPECT_TRUE(device_->reset().ok());
  EXPECT_EQ(trace(), "a");
  EXPECT_EQ(verdict(), StepCode::ok);
}

class Threads : public HostTest {};

// Ends only if the peer runs meanwhile, which is what a thread a stream promises.
struct Meeting {
  std::atomic<int>* here;
};
void meet(const void* raw, std::uint32_t, std::uint32_t) {
  std::atomic<int>& here = *static_cast<const Meeting*>(raw)->here;
  ++here;
  while (here.load() < 2) std::this_thread::yield();
}

TEST_F(Threads, KernelsOfTwoStreamsMeetInBothSchedules) {
  for (const bool early : {false, true}) {
    device_->schedule({.early = early, .threads = true});
    std::atomic<int> here = 0;
    const Meeting args{&here};
    EXPECT_EQ(api().launch(stream(0), meet, 1, &args, sizeof args), ASSAY_OK);
    EXPECT_EQ(api().launch(stream(1), meet, 1, &args, sizeof args), ASSAY_OK);
    EXPECT_TRUE(device_->sync_device().ok());
    EXPECT_EQ(here, 2);
  }
}

TEST_F(Threads, DependenciesAcrossThreadsHold) {
  device_->schedule({.threads = true});
  for (int round = 0; round < 50; ++round) {
    forget();
    note(stream(0), 'a');
    join(stream(1), stream(0));
    note(stream(1), 'b');
    join(stream(2), stream(1));
    note(stream(2), 'c');
    join(stream(0), stream(2));
    note(stream(0), 'd');
    EXPECT_TRUE(device_->load(0).ok());
    EXPECT_TRUE(device_->sync_device().ok());
    EXPECT_EQ(trace(), "abcd");
  }
}

TEST_F(Threads, TheApiMayBeCalledFromSeveralThreads) {
  device_->schedule({.early = true, .block_seed = 3});
  static std::atomic<int> runs;
  runs = 0;
  const assay_host_api& table = api();
  const auto count = [](const void*, std::uint32_t, std::uint32_t) { ++runs; };
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        assay_host_stream* mine = nullptr;
        assay_host_event* mark = nullptr;
        void* memory = nullptr;
        EXPECT_EQ(table.stream_create(&mine), ASSAY_OK);
        EXPECT_EQ(table.event_create(&mark), ASSAY_OK);
        EXPECT_EQ(table.allocate(&memory, 64), ASSAY_OK);
        EXPECT_EQ(table.launch(mine, count, 2, nullptr, 0), ASSAY_OK);
        EXPECT_EQ(table.event_record(mark, mine), ASSAY_OK);
        EXPECT_EQ(table.stream_wait(mine, mark), ASSAY_OK);
        EXPECT_EQ(table.synchronize(mine), ASSAY_OK);
        EXPECT_EQ(table.stream_destroy(mine), ASSAY_OK);
        EXPECT_EQ(table.event_destroy(mark), ASSAY_OK);
        EXPECT_EQ(table.release(memory), ASSAY_OK);
      }
    });
  }
  callers.clear();
  EXPECT_EQ(runs, 4 * 100 * 2);
  DeviceUsage usage;
  EXPECT_TRUE(device_->usage(usage).ok());
  EXPECT_EQ(usage.handles, 0u);
  EXPECT_EQ(usage.bytes_used, 0u);
}

class Memory : public HostTest {};

TEST_F(Memory, UsageCountsWhatTheCandidateHoldsAndOnlyThat) {
  EXPECT_TRUE(device_->record(0, 0).ok());
  void *scratch = nullptr, *memory = nullptr;
  EXPECT_TRUE(device_->scratch(100, &scratch).ok());
  EXPECT_EQ(api().allocate(&memory, 1000), ASSAY_OK);
  assay_host_stream* other = side();
  assay_host_event* mark = event();
  DeviceUsage usage;
  EXPECT_TRUE(device_->usage(usage).ok());
  EXPECT_EQ(usage.bytes_used, 1000u);
  EXPECT_EQ(usage.handles, 3u);
  EXPECT_TRUE(device_->reset().ok());
  EXPECT_TRUE(device_->usage(usage).ok());
  EXPECT_EQ(usage.handles, 3u) << "reset took what may belong to an init state";
  EXPECT_EQ(api().release(memory), ASSAY_OK);
  EXPECT_EQ(api().stream_destroy(other), ASSAY_OK);
  EXPECT_EQ(api().event_destroy(mark), ASSAY_OK);
  EXPECT_TRUE(device_->usage(usage).ok());
  EXPECT_EQ(usage.bytes_used, 0u);
  EXPECT_EQ(usage.handles, 0u);
}

TEST_F(Memory, AnAllocationThatCannotBeServedIsToldAsSuch) {
  void* memory = this;
  EXPECT_EQ(api().allocate(&memory, std::size_t{1} << 60), ASSAY_ERROR);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(verdict(), StepCode::out_of_memory);
}

TEST_F(Memory, CallsThatAreQueuedTogetherDoNotShareScratch) {
  void *first = nullptr, *second = nullptr, *third = nullptr;
  EXPECT_TRUE(device_->scratch(64, &first).ok());
  note(stream(0), 'a');
  EXPECT_TRUE(device_->scratch(64, &second).ok());
  EXPECT_NE(first, second);
  EXPECT_TRUE(device_->sync(0).ok());
  EXPECT_TRUE(device_->scratch(64, &third).ok());
  EXPECT_TRUE(third == first || third == second);
}

TEST_F(Memory, AnOverrunOfScratchIsToldByTheNextSync) {
  void* scratch = nullptr;
  EXPECT_TRUE(device_->scratch(64, &scratch).ok());
  const auto overrun = [](const void* raw, std::uint32_t, std::uint32_t) {
    (*static_cast<std::byte* const*>(raw))[64] = std::byte{0};
  };
  EXPECT_EQ(api().launch(stream(0), overrun, 1, &scratch, sizeof scratch), ASSAY_OK);
  EXPECT_EQ(device_->sync(0).code, StepCode::device_fault);
  EXPECT_TRUE(device_->sync(0).ok());
}

TEST(Hooks, AreCalledAroundEveryKernelRunAndNotAroundTrustedWork) {
  std::string events;
  const auto enter = [](void* to) { *static_cast<std::string*>(to) += '('; };
  const auto leave = [](void* to) { *static_cast<std::string*>(to) += ')'; };
  const auto device = make_host_device({enter, leave, &events});
  assay_call call{};
  EXPECT_TRUE(device->bind(call, 0).ok());
  EXPECT_EQ(call.device.device_type, kDLCPU);
  EXPECT_EQ(call.cuda_stream, nullptr);
  std::string* to = &events;
  const auto kernel = [](const void* raw, std::uint32_t, std::uint32_t) {
    **static_cast<std::string* const*>(raw) += 'k';
  };
  EXPECT_TRUE(device->fill(0, nullptr, 0, 1, 0).ok());
  EXPECT_EQ(call.host->launch(call.host_stream, kernel, 2, &to, sizeof to), ASSAY_OK);
  EXPECT_EQ(call.host->launch(nullptr, kernel, 1, &to, sizeof to), ASSAY_OK);
  EXPECT_EQ(events, "(k)");
  EXPECT_TRUE(device->sync(0).ok());
  EXPECT_EQ(events, "(k)(kk)");
}

}  // namespace
}  // namespace assay::host
