// Real behaviour, on a real GPU. Without one the program says so and exits with 77, which CTest reports as skipped.
// Faults destroy a context, so each is provoked in a child: this program, executed again with a role.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/device/cuda/cuda_device.hpp"
#include "harness/device/cuda/driver.hpp"

namespace assay {
namespace {

constexpr std::uint32_t kWords = 1u << 16;
constexpr std::uint64_t kUnit = std::uint64_t{2} << 20;
constexpr std::uint64_t kFarRow = std::uint64_t{12} << 30;
constexpr int kSkipped = 77;

const ArenaPlan kPlan{2 * kUnit, {{0, 2 * kUnit}}};
const ArenaPlan kFarPlan{std::uint64_t{16} << 30, {{0, kUnit}, {kFarRow, kUnit}}};

// add_one: out[i] = in[i] + 1 for i < n. stop: traps.
constexpr const char* kPtx = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry add_one(.param .u64 in, .param .u64 out, .param .u32 n) {
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %a<6>;
  ld.param.u64 %a1, [in]; ld.param.u64 %a2, [out]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.u32 %r2, %r2, %r3, %r4;
  setp.ge.u32 %p, %r2, %r1;
  @%p ret;
  mul.wide.u32 %a3, %r2, 4;
  add.u64 %a4, %a1, %a3; add.u64 %a5, %a2, %a3;
  ld.global.u32 %r5, [%a4]; add.u32 %r5, %r5, 1; st.global.u32 [%a5], %r5;
  ret;
}
.visible .entry stop() { trap; }
)";

// What a candidate calls. The process has the driver open already; this is the same library.
class Candidate {
 public:
  Candidate() {
    if (module_load(&module_, kPtx) != CUDA_SUCCESS || function(&add_one_, module_, "add_one") != CUDA_SUCCESS ||
        function(&stop_, module_, "stop") != CUDA_SUCCESS) {
      std::fprintf(stderr, "the test's PTX cannot be loaded\n");
      std::abort();
    }
  }
  CUresult add_one(CUstream stream, const void* in, void* out, std::uint32_t n = kWords) const {
    void* arguments[] = {&in, &out, &n};
    return launch_kernel(add_one_, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr);
  }
  CUresult stop(CUstream stream) const { return launch_kernel(stop_, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr); }

  template <class F>
  static F* symbol(const char* name) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<F*>(dlsym(library, name));
  }
  decltype(&cuLaunchHostFunc) launch_host = symbol<decltype(cuLaunchHostFunc)>("cuLaunchHostFunc");
  decltype(&cuDevicePrimaryCtxReset) reset_context =
      symbol<decltype(cuDevicePrimaryCtxReset)>("cuDevicePrimaryCtxReset_v2");

 private:
  decltype(&cuModuleLoadData) module_load = symbol<decltype(cuModuleLoadData)>("cuModuleLoadData");
  decltype(&cuModuleGetFunction) function = symbol<decltype(cuModuleGetFunction)>("cuModuleGetFunction");
  decltype(&cuLaunchKernel) launch_kernel = symbol<decltype(cuLaunchKernel)>("cuLaunchKernel");
  CUmodule module_ = nullptr;
  CUfunction add_one_ = nullptr, stop_ = nullptr;
};

// ---- the child's side ----

int wrong(const std::string& what, const Outcome& outcome) {
  std::fprintf(stderr, "child: %s: code %u, %s\n", what.c_str(), static_cast<unsigned>(outcome.code),
               outcome.text.c_str());
  return 1;
}

// A call that breaks the device must be seen by the next wait, and by every verdict from then on.
int expect_fault(Device& device, const char* error) {
  (void)device.verdict_on_call();
  const Outcome waited = device.sync(0);
  if (waited.code != StepCode::device_fault) return wrong("sync", waited);
  if (waited.text.find(error) == std::string::npos) return wrong(std::string("no ") + error, waited);
  assay_call call{};
  (void)device.bind(call, 0);
  const Outcome verdict = device.verdict_on_call();
  if (verdict.code != StepCode::device_fault) return wrong("verdict", verdict);
  const Outcome reset = device.reset();
  return reset.code == StepCode::device_fault ? 0 : wrong("reset", reset);
}

int play(const std::string& role, const std::vector<int>& descriptors) {
  const auto memory = make_cuda_memory(0);
  const auto device = make_cuda_device(0);
  const Candidate candidate;
  const bool far = descriptors.size() == 2;
  const auto view = memory->map(far ? kFarPlan : kPlan, descriptors,
                                role == "write read-only" ? Access::read_only : Access::read_write);
  if (role == "fill") {
    if (Outcome o = device->fill(0, view->base(), 0xABCD, 4, kWords); !o.ok()) return wrong("fill", o);
    const Outcome o = device->sync(0);
    return o.ok() ? 0 : wrong("sync", o);
  }
  if (role == "trusted step in a hole") {
    const Outcome filled = device->fill(0, view->base() + kUnit, 1, 4, 1);
    const Outcome o = filled.ok() ? device->sync(0) : filled;
    return o.code == StepCode::infrastructure ? 0 : wrong("nobody else ran", o);
  }
  assay_call call{};
  if (Outcome o = device->bind(call, 0); !o.ok()) return wrong("bind", o);
  if (role == "write read-only") {
    candidate.add_one(call.cuda_stream, view->base(), view->base());
    return expect_fault(*device, "CUDA_ERROR_ILLEGAL_ADDRESS");
  }
  if (role == "touch a hole") {
    candidate.add_one(call.cuda_stream, view->base(), view->base() + kUnit, 1);
    return expect_fault(*device, "CUDA_ERROR_ILLEGAL_ADDRESS");
  }
  if (role == "trap") {
    candidate.stop(call.cuda_stream);
    return expect_fault(*device, "CUDA_ERROR_");
  }
  if (role == "reset the device" || role == "reset and revive the device") {
    (void)device->record(0, 0);
    candidate.reset_context(0);
    CUcontext revived = nullptr;
    if (role == "reset and revive the device") {
      (void)cuda::driver().cuDevicePrimaryCtxRetain(&revived, 0);
      (void)cuda::driver().cuCtxSetCurrent(revived);
    }
    const Outcome o = device->verdict_on_call();
    if (o.code != StepCode::device_fault) return wrong("verdict", o);
    const Outcome reset = device->reset();
    return reset.code == StepCode::device_fault ? 0 : wrong("reset", reset);
  }
  if (role == "wait for a held stream") {
    (void)device->hold(0);
    candidate.add_one(call.cuda_stream, view->base(), view->base());
    cuda::driver().cuCtxSynchronize();
    return 1;
  }
  return 2;
}

// ---- the judge's side ----

pid_t start(const std::string& role, const std::vector<int>& descriptors) {
  std::vector<std::string> words{"/proc/self/exe", "--child", role};
  for (const int d : descriptors) words.push_back(std::to_string(d));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (const int d : descriptors) fcntl(d, F_SETFD, 0);
    execv(arguments[0], arguments.data());
    _exit(126);
  }
  return child;
}

int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// Zero if the child saw what its role expects.
int run(const std::string& role, const std::vector<int>& descriptors) {
  const auto t0 = std::chrono::steady_clock::now();
  const int status = status_of(start(role, descriptors));
  std::printf("child '%s': %.0f ms\n", role.c_str(),
              std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

class Gpu : public testing::Test {
 protected:
  static void SetUpTestSuite() { memory = make_cuda_memory(0).release(); }  // one context for all tests
  static void TearDownTestSuite() { delete std::exchange(memory, nullptr); }
  void SetUp() override { alarm(60); }  // a hang is a failure, not a blocked run
  void TearDown() override { alarm(0); }

  void put(void* device_memory, std::uint32_t value) {
    const std::vector<std::uint32_t> words(kWords, value);
    memory->upload(device_memory, words.data(), words.size() * sizeof(std::uint32_t));
  }
  // The value that all words have; none when they differ.
  std::optional<std::uint32_t> get(const void* device_memory) {
    std::vector<std::uint32_t> words(kWords);
    memory->download(words.data(), device_memory, words.size() * sizeof(std::uint32_t));
    for (const std::uint32_t word : words) {
      if (word != words[0]) return std::nullopt;
    }
    return words[0];
  }
  Outcome end(std::uint32_t stream = 0) { return device->end_capture(stream, 0, inventory); }
  CUstream bind(std::uint32_t stream) {
    EXPECT_TRUE(device->bind(call, stream).ok());
    return call.cuda_stream;
  }

  static MemoryDomain* memory;
  std::unique_ptr<Arena> arena = memory->create(kPlan);
  std::unique_ptr<Device> device = make_cuda_device(0);
  Candidate candidate;
  assay_call call{};
  GraphInventory inventory;
  std::byte* in = arena->base();
  std::byte* out = arena->base() + kUnit;
};
MemoryDomain* Gpu::memory = nullptr;

TEST_F(Gpu, ChunksStartZeroedAndCopiesRoundTrip) {
  EXPECT_EQ(get(in), 0u);
  const ArenaPlan large{64 * kUnit, {{0, 64 * kUnit}}};
  const auto lent = memory->create(large);
  std::vector<std::byte> sent(64 * kUnit - 12345), received(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i)
    sent[i] = static_cast<std::byte>(((i * 2654435761u) >> 13) + 31 * (i >> 20));
  const auto t0 = std::chrono::steady_clock::now();
  memory->upload(lent->base() + 77, sent.data(), sent.size());
  const auto t1 = std::chrono::steady_clock::now();
  memory->download(received.data(), lent->base() + 77, received.size());
  const auto t2 = std::chrono::steady_clock::now();
  EXPECT_TRUE(sent == received);
  EXPECT_EQ(memory->architecture().rfind("sm", 0), 0u) << memory->architecture();
  const auto rate = [&](auto d) {
    return static_cast<double>(sent.size()) / 1e9 / std::chrono::duration<double>(d).count();
  };
  std::printf("%s: upload %.1f GB/s, download %.1f GB/s\n", device->describe().c_str(), rate(t1 - t0), rate(t2 - t1));
}

TEST_F(Gpu, WriteThroughAReadOnlyViewFaultsInTheWorkerAndLeavesTheJudgeIntact) {
  put(in, 5);
  EXPECT_EQ(run("write read-only", arena->descriptors()), 0);
  EXPECT_EQ(get(in), 5u);
  put(in, 6);
  EXPECT_EQ(get(in), 6u) << "the judge's context is still good";
}

TEST_F(Gpu, HolesFaultAndFarRowsDoNot) {
  const auto far = memory->create(kFarPlan);
  ASSERT_TRUE(device->fill(0, far->base() + kFarRow, 3, 4, kWords).ok());
  ASSERT_TRUE(device->sync(0).ok());
  EXPECT_EQ(get(far->base() + kFarRow), 3u);
  EXPECT_EQ(run("touch a hole", far->descriptors()), 0);
  EXPECT_EQ(run("trusted step in a hole", far->descriptors()), 0);
  EXPECT_EQ(get(far->base() + kFarRow), 3u);
}

TEST_F(Gpu, MemoryIsSharedWithAnotherProcess) {
  EXPECT_EQ(run("fill", arena->descriptors()), 0);
  EXPECT_EQ(get(in), 0xABCDu);
}

TEST_F(Gpu, TrapAndDeviceResetAreTheCandidatesFaults) {
  EXPECT_EQ(run("trap", arena->descriptors()), 0);
  EXPECT_EQ(run("reset the device", arena->descriptors()), 0);
  EXPECT_EQ(run("reset and revive the device", arena->descriptors()), 0);
}

TEST_F(Gpu, WorkerThatHangsOnAHeldStreamCanBeKilled) {
  const pid_t child = start("wait for a held stream", arena->descriptors());
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "it should hang";
  const auto t0 = std::chrono::steady_clock::now();
  kill(child, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
  std::printf("hung worker reaped in %.0f ms\n",
              std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count());
  put(in, 8);
  EXPECT_EQ(get(in), 8u);
}

TEST_F(Gpu, HeldStreamWaitsUntilItIsReleased) {
  for (const std::uint32_t stream : {0u, kCudaBlockingStream}) {
    put(out, 0);
    ASSERT_TRUE(device->hold(stream).ok());
    ASSERT_TRUE(device->fill(stream, out, 7, 4, kWords).ok());
    ASSERT_EQ(candidate.add_one(bind(stream), out, out), CUDA_SUCCESS);
    EXPECT_TRUE(device->verdict_on_call().ok()) << "unfinished is fine";
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_EQ(get(out), 0u);
    ASSERT_TRUE(device->unhold(stream).ok());
    ASSERT_TRUE(device->sync(stream).ok());
    EXPECT_EQ(get(out), 8u);
  }
}

TEST_F(Gpu, HeldStreamBlocksNoOtherStreamNorTheHarness) {
  ASSERT_TRUE(device->hold(0).ok());
  ASSERT_TRUE(device->fill(0, in, 1, 4, kWords).ok());
  void* scratch = nullptr;
  for (std::uint32_t stream = 1; stream < 24; ++stream) {
    ASSERT_TRUE(device->fill(stream, out, stream, 4, kWords).ok());
    ASSERT_TRUE(device->sync(stream).ok());
    EXPECT_EQ(get(out), stream);
    ASSERT_TRUE(device->scratch(std::size_t{3} << 20, &scratch).ok());
  }
  ASSERT_TRUE(device->load(0).ok());
  EXPECT_EQ(get(in), 0u);
  EXPECT_TRUE(device->reset().ok()) << "reset releases what is held";
  EXPECT_EQ(get(in), 1u);
}

TEST_F(Gpu, EventsOrderStreams) {
  ASSERT_TRUE(device->hold(0).ok());
  ASSERT_TRUE(device->fill(0, in, 41, 4, kWords).ok());
  ASSERT_TRUE(device->record(3, 0).ok());
  ASSERT_TRUE(device->wait(1, 3).ok());
  ASSERT_EQ(candidate.add_one(bind(1), in, out), CUDA_SUCCESS);
  ASSERT_TRUE(device->unhold(0).ok());
  ASSERT_TRUE(device->sync(1).ok());
  EXPECT_EQ(get(out), 42u);
}

// Sizes that are no multiple of what the driver takes memory in looked like a candidate that grows.
TEST_F(Gpu, ScratchIsNoGrowth) {
  void* scratch = nullptr;
  DeviceUsage before, after;
  ASSERT_TRUE(device->scratch(64, &scratch).ok());
  ASSERT_TRUE(device->usage(before).ok());
  for (int i = 1; i <= 8; ++i) ASSERT_TRUE(device->scratch((std::size_t{5} << 20) + 700 * static_cast<std::size_t>(i), &scratch).ok());
  ASSERT_TRUE(device->usage(after).ok());
  EXPECT_GE(after.scratch_bytes, before.scratch_bytes + (std::size_t{40} << 20));
  EXPECT_LE(after.bytes_used - after.scratch_bytes, before.bytes_used - before.scratch_bytes + (std::size_t{1} << 20));
}

TEST_F(Gpu, ReplaySeesInputsRewrittenThroughTheOtherViewAndScratchTakenInCaptureIsLegal) {
  const auto view = memory->map(kPlan, arena->descriptors(), Access::read_only);
  for (const CaptureMode mode : {CaptureMode::global, CaptureMode::thread_local_, CaptureMode::relaxed}) {
    put(in, 1);
    put(out, 99);
    ASSERT_TRUE(device->begin_capture(0, mode).ok());
    void* scratch = nullptr;
    ASSERT_TRUE(device->scratch(std::size_t{5} << 20, &scratch).ok());
    DeviceUsage used;
    ASSERT_TRUE(device->usage(used).ok());
    ASSERT_EQ(candidate.add_one(bind(0), view->base(), scratch), CUDA_SUCCESS);
    ASSERT_EQ(candidate.add_one(call.cuda_stream, scratch, out), CUDA_SUCCESS);
    const Outcome verdict = device->verdict_on_call();
    ASSERT_TRUE(verdict.ok()) << verdict.text;
    const Outcome ended = end();
    ASSERT_TRUE(ended.ok()) << ended.text;
    EXPECT_EQ(inventory.kernels, 2u);
    EXPECT_EQ(get(out), 99u) << "nothing runs at capture";
    for (const std::uint32_t value : {10u, 20u, 30u}) {
      ASSERT_TRUE(device->fill(0, in, value, 4, kWords).ok());
      ASSERT_TRUE(device->launch(0, 0).ok());
      ASSERT_TRUE(device->sync(0).ok());
      EXPECT_EQ(get(out), value + 2);
    }
    ASSERT_TRUE(device->reset().ok());
  }
}

TEST_F(Gpu, LegacyStreamInCaptureIsIllegalOnABlockingStreamAndEmptyOnAnother) {
  put(in, 1);
  ASSERT_TRUE(device->begin_capture(kCudaBlockingStream, CaptureMode::global).ok());
  EXPECT_NE(candidate.add_one(nullptr, in, out), CUDA_SUCCESS);
  const Outcome blocking = end(kCudaBlockingStream);
  EXPECT_EQ(blocking.code, StepCode::capture_illegal) << blocking.text;

  ASSERT_TRUE(device->begin_capture(0, CaptureMode::global).ok());
  const CUresult accepted = candidate.add_one(nullptr, in, out);
  const Outcome other = end(0);
  std::printf("legacy launch while a non-blocking stream captures: %d, then %s\n", accepted, other.text.c_str());
  EXPECT_EQ(other.code, accepted == CUDA_SUCCESS ? StepCode::capture_empty : StepCode::capture_illegal) << other.text;
}

TEST_F(Gpu, SideStreamMustJoinTheCapture) {
  const cuda::DriverApi& api = cuda::driver();
  CUstream side = nullptr;
  CUevent fork = nullptr, join = nullptr;
  ASSERT_EQ(api.cuStreamCreate(&side, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(api.cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(api.cuEventCreate(&join, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  for (const bool joined : {false, true}) {
    ASSERT_TRUE(device->begin_capture(0, CaptureMode::global).ok());
    api.cuEventRecord(fork, bind(0));
    api.cuStreamWaitEvent(side, fork, 0);
    candidate.add_one(side, in, out);
    if (joined) {
      api.cuEventRecord(join, side);
      api.cuStreamWaitEvent(call.cuda_stream, join, 0);
    }
    const Outcome ended = end();
    EXPECT_EQ(ended.code, joined ? StepCode::ok : StepCode::capture_unjoined) << ended.text;
  }
  api.cuEventDestroy(fork);
  api.cuEventDestroy(join);
  api.cuStreamDestroy(side);
}

TEST_F(Gpu, SynchronisingOrAllocatingInCaptureIsIllegalAndTheNextCaptureIsUnharmed) {
  const cuda::DriverApi& api = cuda::driver();
  CUdeviceptr memory_of_candidate = 0;
  for (const bool allocate : {false, true}) {
    ASSERT_TRUE(device->begin_capture(0, CaptureMode::global).ok());
    const CUstream stream = bind(0);
    EXPECT_NE(allocate ? api.cuMemAlloc(&memory_of_candidate, 4096) : api.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_TRUE(device->verdict_on_call().ok()) << "no sticky error: the end of the capture tells";
    candidate.add_one(stream, in, out);
    EXPECT_EQ(end().code, StepCode::capture_illegal);
  }
  ASSERT_TRUE(device->begin_capture(0, CaptureMode::global).ok());
  ASSERT_EQ(candidate.add_one(bind(0), in, out), CUDA_SUCCESS);
  EXPECT_TRUE(end().ok());
}

TEST_F(Gpu, HostCallbackInAGraphIsFoundAndEmptyCapturesToo) {
  ASSERT_TRUE(device->begin_capture(0, CaptureMode::global).ok());
  ASSERT_EQ(candidate.launch_host(
                bind(0), [](void*) {}, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(end().code, StepCode::capture_host_node);
  ASSERT_TRUE(device->begin_capture(0, CaptureMode::global).ok());
  EXPECT_EQ(end().code, StepCode::capture_empty);
}

TEST_F(Gpu, ResetEndsAnOpenCaptureAndAHoldAndIsCheap) {
  ASSERT_TRUE(device->hold(1).ok());
  ASSERT_TRUE(device->begin_capture(0, CaptureMode::global).ok());
  candidate.add_one(bind(0), in, out);
  EXPECT_TRUE(device->reset().ok());
  void* scratch = nullptr;
  constexpr int kRounds = 200;
  std::chrono::steady_clock::duration spent{};
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_TRUE(device->scratch(4096, &scratch).ok());
    ASSERT_TRUE(device->record(0, 0).ok());
    ASSERT_TRUE(device->begin_capture(0, CaptureMode::global).ok());
    candidate.add_one(bind(0), in, out);
    ASSERT_TRUE(end().ok());
    ASSERT_TRUE(device->launch(0, 0).ok());
    const auto t0 = std::chrono::steady_clock::now();
    ASSERT_TRUE(device->reset().ok());
    spent += std::chrono::steady_clock::now() - t0;
  }
  std::printf("reset: %.1f us\n", std::chrono::duration<double, std::micro>(spent).count() / kRounds);
  constexpr int kBinds = 20000;
  const auto t0 = std::chrono::steady_clock::now();
  for (int i = 0; i < kBinds; ++i) (void)device->bind(call, 0);
  std::printf("bind, as the cost of entering any step: %.0f ns\n",
              std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - t0).count() / kBinds);
}

TEST_F(Gpu, ScratchIsPoisonedAgainForEachProgram) {
  for (int program = 0; program < 2; ++program) {
    void* scratch = nullptr;
    ASSERT_TRUE(device->scratch(kWords * sizeof(std::uint32_t), &scratch).ok());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scratch) % 256, 0u);
    EXPECT_EQ(get(scratch), 0xFFFFFFFFu);
    ASSERT_TRUE(device->fill(0, scratch, 1, 4, kWords).ok());
    ASSERT_TRUE(device->sync(0).ok());
    EXPECT_EQ(get(scratch), 1u);
    ASSERT_TRUE(device->reset().ok());
  }
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  // As the worker sets them: no lazy loading behind a hold, and a hardware queue for each stream.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  if (argc > 2 && std::string(argv[1]) == "--child") {
    std::vector<int> descriptors;
    for (int i = 3; i < argc; ++i) descriptors.push_back(std::atoi(argv[i]));
    return assay::play(argv[2], descriptors);
  }
  testing::InitGoogleTest(&argc, argv);
  try {
    (void)assay::make_cuda_device(0);
  } catch (const assay::DeviceError& error) {
    std::fprintf(stderr, "skipped: %s\n", error.what());
    return assay::kSkipped;
  }
  return RUN_ALL_TESTS();
}
