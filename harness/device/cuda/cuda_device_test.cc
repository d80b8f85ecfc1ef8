#include "harness/device/cuda/cuda_device.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "harness/device/cuda/fake_driver.hpp"

namespace assay {
namespace {

class CudaDeviceTest : public testing::Test {
 protected:
  CudaDeviceTest() : device(make_cuda_device(fake.api(), 0)) { fake.clear(); }

  StepCode bind(std::uint32_t stream) { return device->bind(call, stream).code; }
  Outcome capture(std::uint32_t stream = 0, std::uint32_t graph = 0) {
    EXPECT_TRUE(device->begin_capture(stream, CaptureMode::global).ok());
    return device->end_capture(stream, graph, inventory);
  }
  [[nodiscard]] std::uint32_t host_word() const {
    return std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(fake.word)).load();
  }

  FakeDriver fake;
  std::unique_ptr<Device> device;
  assay_call call{};
  GraphInventory inventory;
};

TEST_F(CudaDeviceTest, BindFillsDeviceAndStreamAndNoHostFields) {
  call.host_stream = reinterpret_cast<assay_host_stream*>(1);
  ASSERT_EQ(bind(3), StepCode::ok);
  EXPECT_EQ(call.device.device_type, kDLCUDA);
  EXPECT_EQ(call.device.device_id, 0);
  EXPECT_NE(call.cuda_stream, nullptr);
  EXPECT_EQ(call.host_stream, nullptr);
  EXPECT_EQ(call.host, nullptr);
}

TEST_F(CudaDeviceTest, OnlyStreamSevenIsABlockingOne) {
  for (std::uint32_t i = 0; i < 10; ++i) {
    ASSERT_EQ(bind(i), StepCode::ok);
    EXPECT_EQ(fake.count("cuStreamCreate blocking"), i < kCudaBlockingStream ? 0u : 1u) << i;
  }
  EXPECT_EQ(fake.count("cuStreamCreate non-blocking"), 9u);
  EXPECT_EQ(fake.count("cuStreamCreate blocking"), 1u);
  fake.clear();
  ASSERT_EQ(bind(kCudaBlockingStream), StepCode::ok);
  EXPECT_EQ(fake.log, std::vector<std::string>{"cuCtxSetCurrent"}) << "a stream is made once";
}

TEST_F(CudaDeviceTest, UnknownStreamsAndGraphsAreInvalidAndReachNoDriver) {
  EXPECT_EQ(bind(64), StepCode::launch_invalid);
  EXPECT_EQ(device->unhold(64).code, StepCode::launch_invalid);
  EXPECT_EQ(device->launch(5, 0).code, StepCode::launch_invalid);
  EXPECT_EQ(device->end_capture(0, 0, inventory).code, StepCode::launch_invalid);
  EXPECT_TRUE(device->drop_graph(5).ok());
  EXPECT_EQ(fake.count("cuGraphLaunch") + fake.count("cuStreamEndCapture"), 0u);
}

TEST_F(CudaDeviceTest, FillUsesThePatternsWidth) {
  void* const memory = reinterpret_cast<void*>(0x5000);
  EXPECT_TRUE(device->fill(0, memory, 0x7F, 1, 3).ok());
  EXPECT_TRUE(device->fill(0, memory, 0x7FC0, 2, 5).ok());
  EXPECT_TRUE(device->fill(0, memory, 0x7FC00001, 4, 7).ok());
  EXPECT_EQ(device->fill(0, memory, 0, 3, 1).code, StepCode::unsupported);
  EXPECT_TRUE(device->fill(0, memory, 0, 4, 0).ok()) << "nothing to do";
  EXPECT_TRUE(device->copy(0, memory, memory, 0).ok());
  EXPECT_TRUE(fake.in_order({"cuMemsetD8Async 127*3", "cuMemsetD16Async 32704*5", "cuMemsetD32Async 2143289345*7"}));
  EXPECT_EQ(fake.count("cuMemcpyDtoDAsync"), 0u);
}

TEST_F(CudaDeviceTest, HoldWaitsForAWordThatUnholdWrites) {
  ASSERT_TRUE(device->hold(2).ok());
  EXPECT_EQ(fake.count("cuStreamWaitValue32 geq"), 1u);
  EXPECT_LT(host_word(), fake.value);
  ASSERT_TRUE(device->hold(2).ok());
  EXPECT_LT(host_word(), fake.value);
  ASSERT_TRUE(device->unhold(2).ok());
  EXPECT_GE(host_word(), fake.value) << "one unhold ends all holds of the stream";
  ASSERT_TRUE(device->hold(2).ok());
  EXPECT_LT(host_word(), fake.value) << "an old release must not open a new hold";
}

TEST_F(CudaDeviceTest, HoldOfOneStreamIsNotReleasedByAnother) {
  ASSERT_TRUE(device->hold(2).ok());
  ASSERT_TRUE(device->unhold(3).ok());
  EXPECT_LT(host_word(), fake.value);
}

TEST_F(CudaDeviceTest, HoldThatTheDriverRefusedHoldsNothing) {
  fake.fail("cuStreamWaitValue32", CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(device->hold(0).code, StepCode::unsupported);
  EXPECT_TRUE(device->sync(0).ok());
}

TEST_F(CudaDeviceTest, ProgramThatWaitsForItsOwnHoldIsRefusedInsteadOfHanging) {
  ASSERT_TRUE(device->hold(1).ok());
  EXPECT_EQ(device->sync(1).code, StepCode::infrastructure);
  EXPECT_EQ(device->sync_device().code, StepCode::infrastructure);
  EXPECT_TRUE(device->sync(0).ok());
  ASSERT_TRUE(device->unhold(1).ok());
  EXPECT_TRUE(device->sync(1).ok());
  EXPECT_TRUE(device->sync_device().ok());
}

TEST_F(CudaDeviceTest, ResetReleasesHoldsBeforeItWaits) {
  ASSERT_TRUE(device->hold(1).ok());
  ASSERT_TRUE(device->reset().ok());
  EXPECT_GE(host_word(), fake.value);
  EXPECT_EQ(fake.count("cuCtxSynchronize"), 1u);
}

TEST_F(CudaDeviceTest, ResetEndsOpenCapturesBeforeItWaitsAndKeepsStreams) {
  ASSERT_TRUE(device->record(0, 0).ok());
  ASSERT_TRUE(capture(0, 1).ok());
  ASSERT_TRUE(device->begin_capture(0, CaptureMode::global).ok());
  fake.clear();
  ASSERT_TRUE(device->reset().ok());
  EXPECT_TRUE(fake.in_order(
      {"cuStreamEndCapture", "cuGraphDestroy", "cuCtxSynchronize", "cuGraphExecDestroy", "cuEventDestroy"}));
  EXPECT_EQ(fake.count("cuStreamDestroy"), 0u);
  EXPECT_EQ(device->launch(1, 0).code, StepCode::launch_invalid);
}

TEST_F(CudaDeviceTest, ResetOfAFaultedDeviceSaysSo) {
  ASSERT_EQ(bind(0), StepCode::ok);
  fake.fail("cuCtxSynchronize", CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(device->reset().code, StepCode::device_fault);
}

TEST_F(CudaDeviceTest, FaultIsTheCandidatesOnlyOnceACallWasBound) {
  fake.fail("cuStreamSynchronize", CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(device->sync(0).code, StepCode::infrastructure);
  ASSERT_EQ(bind(0), StepCode::ok);
  const Outcome after = device->sync(0);
  EXPECT_EQ(after.code, StepCode::device_fault);
  EXPECT_EQ(after.text, "cuStreamSynchronize: CUDA_ERROR_SCRIPTED (as the test says)");
}

TEST_F(CudaDeviceTest, VerdictNeverWaitsAndUnfinishedWorkIsFine) {
  ASSERT_EQ(bind(0), StepCode::ok);
  fake.clear();
  fake.fail("cuStreamQuery", CUDA_ERROR_NOT_READY);
  EXPECT_TRUE(device->verdict_on_call().ok());
  EXPECT_EQ(fake.log, (std::vector<std::string>{"cuCtxSetCurrent", "cuStreamQuery"}));
}

TEST_F(CudaDeviceTest, VerdictReportsAStickyError) {
  ASSERT_EQ(bind(0), StepCode::ok);
  fake.fail("cuStreamQuery", CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(device->verdict_on_call().code, StepCode::device_fault);
}

TEST_F(CudaDeviceTest, VerdictInCaptureDoesNotInvalidateTheCapture) {
  ASSERT_TRUE(device->begin_capture(0, CaptureMode::global).ok());
  ASSERT_EQ(bind(0), StepCode::ok);
  EXPECT_TRUE(device->verdict_on_call().ok());
  EXPECT_EQ(fake.count("cuStreamQuery"), 0u);
  EXPECT_EQ(fake.count("cuStreamIsCapturing"), 1u);
}

TEST_F(CudaDeviceTest, CaptureModesReachTheDriver) {
  const std::pair<CaptureMode, CUstreamCaptureMode> modes[] = {
      {CaptureMode::global, CU_STREAM_CAPTURE_MODE_GLOBAL},
      {CaptureMode::thread_local_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
      {CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED}};
  for (const auto& [mode, driver_mode] : modes) {
    fake.clear();
    ASSERT_TRUE(device->begin_capture(0, mode).ok());
    EXPECT_EQ(fake.count("cuStreamBeginCapture " + std::to_string(driver_mode)), 1u);
    ASSERT_TRUE(device->end_capture(0, 0, inventory).ok());
  }
}

TEST_F(CudaDeviceTest, EndedCaptureIsCountedByTypeChildrenIncluded) {
  fake.nodes = {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_GRAPH, CU_GRAPH_NODE_TYPE_MEMCPY,
                CU_GRAPH_NODE_TYPE_EMPTY};
  fake.child_nodes = {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
                      CU_GRAPH_NODE_TYPE_MEM_FREE};
  ASSERT_TRUE(capture().ok());
  EXPECT_EQ(inventory.nodes, 7u);
  EXPECT_EQ(inventory.kernels, 2u);
  EXPECT_EQ(inventory.copies, 2u);
  EXPECT_EQ(inventory.allocations, 1u);
  EXPECT_EQ(inventory.host_callbacks, 0u);
  EXPECT_TRUE(device->launch(0, 0).ok());
}

TEST_F(CudaDeviceTest, HostCallbackInAChildGraphIsFound) {
  fake.nodes = {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_GRAPH};
  fake.child_nodes = {CU_GRAPH_NODE_TYPE_HOST};
  EXPECT_EQ(capture().code, StepCode::capture_host_node);
  EXPECT_EQ(inventory.host_callbacks, 1u);
  EXPECT_EQ(device->launch(0, 0).code, StepCode::launch_invalid) << "a refused graph is never replayed";
}

TEST_F(CudaDeviceTest, ACallbackOfTheLoadedNcclIsItsTransportAndNotTheCandidates) {
  fake.nodes = {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_HOST};
  fake.host_function = [](void*) {};
  EXPECT_EQ(capture().code, StepCode::capture_host_node) << "a function of this program";
  void* const nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (nccl == nullptr) GTEST_SKIP() << "there is no libnccl.so.2: " << dlerror();
  EXPECT_EQ(capture().code, StepCode::capture_host_node) << "still this program's";
  fake.host_function = reinterpret_cast<CUhostFn>(dlsym(nccl, "ncclGetVersion"));
  EXPECT_TRUE(capture().ok());
  EXPECT_EQ(inventory.host_callbacks, 0u);
  EXPECT_EQ(inventory.nodes, 2u);
  fake.host_function = reinterpret_cast<CUhostFn>(&std::free);
  EXPECT_EQ(capture().code, StepCode::capture_host_node) << "another library's";
}

TEST_F(CudaDeviceTest, GraphOfEmptyNodesIsEmpty) {
  fake.nodes = {CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_EMPTY};
  EXPECT_EQ(capture().code, StepCode::capture_empty);
  fake.nodes = {};
  EXPECT_EQ(capture().code, StepCode::capture_empty);
}

TEST_F(CudaDeviceTest, FailedCapturesHaveTheirOwnCodes) {
  const std::pair<CUresult, StepCode> rows[] = {
      {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, StepCode::capture_illegal},
      {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, StepCode::capture_unjoined},
      {CUDA_ERROR_ILLEGAL_STATE, StepCode::capture_illegal},  // the candidate ended it itself
  };
  for (const auto& [result, code] : rows) {
    fake.fail("cuStreamEndCapture", result);
    EXPECT_EQ(capture().code, code) << result;
    fake.fail("cuStreamEndCapture", CUDA_SUCCESS);
    EXPECT_TRUE(capture().ok()) << "the next capture is unharmed";
  }
}

TEST_F(CudaDeviceTest, GraphThatCannotBeInstantiatedIsTheCandidatesAndLostMemoryIsNot) {
  fake.fail("cuGraphInstantiateWithFlags", CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(capture().code, StepCode::capture_illegal);
  fake.fail("cuGraphInstantiateWithFlags", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(capture().code, StepCode::out_of_memory);
}

TEST_F(CudaDeviceTest, RecapturedIndexReplacesItsGraph) {
  ASSERT_TRUE(capture(0, 4).ok());
  const std::size_t live = fake.live.size();
  ASSERT_TRUE(capture(0, 4).ok());
  EXPECT_EQ(fake.live.size(), live);
  ASSERT_TRUE(device->drop_graph(4).ok());
  EXPECT_EQ(fake.live.size(), live - 1);
}

TEST_F(CudaDeviceTest, ScratchOfTwoCallsNeverOverlapsAndIsPoisonedFirst) {
  void *a = nullptr, *b = nullptr, *c = nullptr;
  ASSERT_TRUE(device->scratch(100, &a).ok());
  ASSERT_TRUE(device->scratch(0, &b).ok());
  ASSERT_TRUE(device->scratch(300, &c).ok());
  const auto at = [](void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  EXPECT_EQ(at(a) % 256 + at(b) % 256 + at(c) % 256, 0u);
  EXPECT_EQ(at(b) - at(a), 256u);
  EXPECT_EQ(at(c) - at(b), 256u);
  EXPECT_TRUE(fake.in_order({"cuMemAlloc 2097152", "cuMemsetD8Async 255*2097152", "cuStreamSynchronize"}));
  EXPECT_EQ(fake.count("cuMemAlloc 2097152"), 1u);
}

TEST_F(CudaDeviceTest, ScratchGrowsBesideOldBlocksAndResetJoinsThem) {
  void* memory = nullptr;
  ASSERT_TRUE(device->scratch(std::size_t{1} << 20, &memory).ok());
  ASSERT_TRUE(device->scratch(std::size_t{3} << 20, &memory).ok());
  EXPECT_EQ(fake.count("cuMemFree"), 0u) << "a live graph may use the old block";
  fake.clear();
  ASSERT_TRUE(device->reset().ok());
  EXPECT_EQ(fake.count("cuMemFree"), 2u);
  EXPECT_EQ(fake.count("cuMemAlloc 6291456"), 1u) << "in whole granules of 2 MiB, as the driver takes them";
  fake.clear();
  ASSERT_TRUE(device->scratch(std::size_t{1} << 20, &memory).ok());
  ASSERT_TRUE(device->scratch(std::size_t{3} << 20, &memory).ok());
  ASSERT_TRUE(device->reset().ok());
  EXPECT_EQ(fake.count("cuMemFree"), 0u);
  EXPECT_EQ(fake.count("cuMemsetD8Async 255*4194304"), 1u) << "only what was used is poisoned again";
}

TEST_F(CudaDeviceTest, ScratchInsideACaptureIsNotTheCandidatesIllegalCall) {
  ASSERT_TRUE(device->begin_capture(0, CaptureMode::global).ok());
  void* memory = nullptr;
  ASSERT_TRUE(device->scratch(64, &memory).ok());
  const std::string exchange = "cuThreadExchangeStreamCaptureMode ";
  EXPECT_TRUE(fake.in_order({exchange + std::to_string(CU_STREAM_CAPTURE_MODE_RELAXED), "cuMemAlloc 2097152",
                             exchange + std::to_string(CU_STREAM_CAPTURE_MODE_GLOBAL)}));
}

TEST_F(CudaDeviceTest, ScratchThatCannotBeHadIsOutOfMemory) {
  void* memory = &fake;
  fake.fail("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(device->scratch(64, &memory).code, StepCode::out_of_memory);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(device->scratch(SIZE_MAX - 3, &memory).code, StepCode::out_of_memory);
}

TEST_F(CudaDeviceTest, UsageCountsWhatIsLive) {
  DeviceUsage before, after;
  ASSERT_TRUE(device->usage(before).ok());
  ASSERT_TRUE(device->record(9, 0).ok());
  ASSERT_TRUE(capture(1, 2).ok());
  ASSERT_TRUE(device->usage(after).ok());
  EXPECT_EQ(before.bytes_used, 40u);
  EXPECT_EQ(after.handles - before.handles, 4u) << "two streams, an event, a graph";
  void* memory = nullptr;
  ASSERT_TRUE(device->scratch(64, &memory).ok());
  ASSERT_TRUE(device->usage(after).ok());
  EXPECT_EQ(after.scratch_bytes - before.scratch_bytes, std::uint64_t{2} << 20);
  EXPECT_EQ(after.bytes_used, 40u) << "as the driver says";
}

TEST_F(CudaDeviceTest, AnAbandonedCaptureIsOverAndMakesNoGraph) {
  ASSERT_TRUE(device->begin_capture(0, CaptureMode::global).ok());
  device->abandon_captures();
  EXPECT_EQ(fake.count("cuStreamEndCapture"), 1u);
  EXPECT_EQ(device->launch(0, 0).code, StepCode::launch_invalid);
  EXPECT_TRUE(capture().ok()) << "the stream can capture again";
  device->abandon_captures();
  EXPECT_EQ(fake.count("cuStreamEndCapture"), 2u) << "nothing is open";
}

TEST_F(CudaDeviceTest, NothingIsLeftBehind) {
  void* memory = nullptr;
  ASSERT_EQ(bind(7), StepCode::ok);
  ASSERT_TRUE(device->load(0).ok());
  ASSERT_TRUE(device->record(1, 0).ok());
  ASSERT_TRUE(device->wait(2, 1).ok());
  ASSERT_TRUE(device->scratch(64, &memory).ok());
  ASSERT_TRUE(device->hold(3).ok());
  ASSERT_TRUE(capture().ok());
  ASSERT_TRUE(device->begin_capture(5, CaptureMode::relaxed).ok());
  device.reset();
  EXPECT_TRUE(fake.live.empty()) << fake.live.size();
}

TEST_F(CudaDeviceTest, HandlesOfAResetContextAreNeverTouched) {
  ASSERT_TRUE(device->record(0, 0).ok());
  ASSERT_TRUE(capture().ok());
  ASSERT_EQ(bind(0), StepCode::ok);
  ASSERT_TRUE(device->begin_capture(5, CaptureMode::global).ok());
  fake.clear();
  fake.context_id = 2;  // the candidate reset the device, and its next call made a new context
  EXPECT_EQ(device->verdict_on_call().code, StepCode::device_fault);
  EXPECT_EQ(device->sync(0).code, StepCode::device_fault);
  EXPECT_EQ(device->unhold(0).code, StepCode::device_fault) << "its word is gone too";
  device->abandon_captures();
  EXPECT_EQ(device->reset().code, StepCode::device_fault);
  device.reset();
  EXPECT_EQ(fake.log, std::vector<std::string>{"cuDevicePrimaryCtxRelease"});
}

TEST_F(CudaDeviceTest, ContextThatIsGoneIsAFaultToo) {
  ASSERT_EQ(bind(0), StepCode::ok);
  fake.live.clear();
  fake.clear();
  EXPECT_EQ(device->verdict_on_call().code, StepCode::device_fault);
  EXPECT_TRUE(fake.log.empty());
}

TEST(CudaDeviceConstruction, HalfBuiltDeviceGivesBackWhatItTook) {
  for (const char* function : {"cuMemHostAlloc", "cuMemHostGetDevicePointer", "cuStreamCreate"}) {
    FakeDriver fake;
    fake.fail(function, CUDA_ERROR_OUT_OF_MEMORY, std::string(function) == "cuStreamCreate" ? 2 : 1);
    EXPECT_THROW((void)make_cuda_device(fake.api(), 0), DeviceError) << function;
    EXPECT_TRUE(fake.live.empty()) << function;
  }
}

TEST(CudaDeviceConstruction, DescribesItself) {
  FakeDriver fake;
  const std::string text = make_cuda_device(fake.api(), 1)->describe();
  EXPECT_EQ(text.rfind("Fake GPU, sm90, ", 0), 0u) << text;
  EXPECT_NE(text.find("CUDA 13.0"), std::string::npos) << text;
}

}  // namespace
}  // namespace assay
