#ifdef ASSAY_HAVE_CUDA

#include "harness/device/cuda/cuda_device.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/cuda/driver.hpp"
#include "harness/device/cuda/host_node.hpp"

namespace assay {
namespace {

constexpr std::uint32_t kStreams = 64;
constexpr std::size_t kAlignment = 256;
// What cuMemAlloc takes memory in: blocks of whole ones are known to the byte in usage().
constexpr std::size_t kBlockGranule = std::size_t{2} << 20;
constexpr std::size_t kLoadBytes = std::size_t{32} << 20;  // one operand; together they exceed an H200's L2 (60 MB)
constexpr int kLoadRounds = 4;                             // about 0.1 ms on an H200
constexpr std::uint8_t kScratchPoison = 0xFF;

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

class CudaDevice final : public Device {
 public:
  CudaDevice(const cuda::DriverApi& api, int ordinal) : context_(api, ordinal), api_(api) {
    try {
      void* words = nullptr;
      cuda::require(api_, "cuMemHostAlloc",
                    api_.cuMemHostAlloc(&words, kStreams * sizeof(std::uint32_t), CU_MEMHOSTALLOC_DEVICEMAP));
      words_ = static_cast<std::uint32_t*>(words);
      std::fill_n(words_, kStreams, 0u);
      cuda::require(api_, "cuMemHostGetDevicePointer", api_.cuMemHostGetDevicePointer(&words_on_device_, words, 0));
      cuda::require(api_, "cuStreamCreate", api_.cuStreamCreate(&trusted_, CU_STREAM_NON_BLOCKING));
      cuda::require(api_, "cuStreamCreate", api_.cuStreamCreate(&load_, CU_STREAM_NON_BLOCKING));
    } catch (...) {
      close();
      throw;
    }
  }
  ~CudaDevice() override {
    (void)reset();
    close();
  }

  DeviceType type() const noexcept override { return DeviceType::cuda; }
  std::string describe() const override { return context_.describe_device(); }

  // Streams stay: creating one costs more than the rest of a reset.
  Outcome reset() override {
    if (Outcome o = enter(); !o.ok()) return o;
    for (std::uint32_t i = 0; i < kStreams; ++i) release_holds(i);
    abandon_captures();
    const CUresult idle = api_.cuCtxSynchronize();
    for (const auto& [index, graph] : std::exchange(graphs_, {})) api_.cuGraphExecDestroy(graph);
    for (const auto& [index, event] : std::exchange(events_, {})) api_.cuEventDestroy(event);
    bound_ = nullptr;
    if (idle != CUDA_SUCCESS) return outcome("cuCtxSynchronize", idle);
    return recycle_scratch();
  }

  Outcome bind(assay_call& call, std::uint32_t stream) override {
    CUstream s = nullptr;
    if (Outcome o = open(stream, s); !o.ok()) return o;
    call.device = {kDLCUDA, context_.ordinal()};
    call.cuda_stream = s;
    call.host_stream = nullptr;
    call.host = nullptr;
    bound_ = s;
    candidate_ran_ = true;
    return {};
  }

  Outcome copy(std::uint32_t stream, void* to, const void* from, std::size_t bytes) override {
    CUstream s = nullptr;
    if (Outcome o = open(stream, s); !o.ok() || bytes == 0) return o;
    if (on_host(from)) return outcome("cuMemcpyHtoDAsync", api_.cuMemcpyHtoDAsync(address(to), from, bytes, s));
    if (on_host(to)) return outcome("cuMemcpyDtoHAsync", api_.cuMemcpyDtoHAsync(to, address(from), bytes, s));
    return outcome("cuMemcpyDtoDAsync", api_.cuMemcpyDtoDAsync(address(to), address(from), bytes, s));
  }

  Outcome share_host(void* memory, std::size_t bytes) override {
    if (Outcome o = enter(); !o.ok()) return o;
    const CUresult result = api_.cuMemHostRegister(memory, bytes, 0);
    if (result == CUDA_SUCCESS) shared_.emplace_back(static_cast<const std::byte*>(memory), bytes);
    return outcome("cuMemHostRegister", result);
  }
  void unshare_host(void* memory) override {
    if (std::erase_if(shared_, [memory](const auto& range) { return range.first == memory; }))
      api_.cuMemHostUnregister(memory);
  }

  Outcome fill(std::uint32_t stream, void* to, std::uint32_t pattern, std::uint32_t pattern_bytes,
               std::size_t count) override {
    CUstream s = nullptr;
    if (Outcome o = open(stream, s); !o.ok() || count == 0) return o;
    switch (pattern_bytes) {
      case 1:
        return outcome("cuMemsetD8Async",
                       api_.cuMemsetD8Async(address(to), static_cast<unsigned char>(pattern), count, s));
      case 2:
        return outcome("cuMemsetD16Async",
                       api_.cuMemsetD16Async(address(to), static_cast<unsigned short>(pattern), count, s));
      case 4:
        return outcome("cuMemsetD32Async", api_.cuMemsetD32Async(address(to), pattern, count, s));
      default:
        return {StepCode::unsupported, "fill: a pattern has 1, 2 or 4 bytes, not " + std::to_string(pattern_bytes)};
    }
  }

  // On a stream of its own, so that it competes with `stream` and is never ordered with it.
  Outcome load(std::uint32_t) override {
    if (Outcome o = enter(); !o.ok()) return o;
    if (load_memory_ == 0) {
      const cuda::RelaxedCapture relaxed(api_);
      if (Outcome o = outcome("cuMemAlloc", api_.cuMemAlloc(&load_memory_, 2 * kLoadBytes)); !o.ok()) return o;
    }
    for (int i = 0; i < kLoadRounds; ++i) {
      if (Outcome o = outcome("cuMemsetD32Async", api_.cuMemsetD32Async(load_memory_, static_cast<unsigned>(i),
                                                                        kLoadBytes / sizeof(std::uint32_t), load_));
          !o.ok()) {
        return o;
      }
      if (Outcome o = outcome("cuMemcpyDtoDAsync",
                              api_.cuMemcpyDtoDAsync(load_memory_ + kLoadBytes, load_memory_, kLoadBytes, load_));
          !o.ok()) {
        return o;
      }
    }
    return {};
  }

  Outcome record(std::uint32_t event, std::uint32_t stream) override {
    CUstream s = nullptr;
    CUevent e = nullptr;
    if (Outcome o = open(stream, s); !o.ok()) return o;
    if (Outcome o = open_event(event, e); !o.ok()) return o;
    return outcome("cuEventRecord", api_.cuEventRecord(e, s));
  }

  Outcome wait(std::uint32_t stream, std::uint32_t event) override {
    CUstream s = nullptr;
    CUevent e = nullptr;
    if (Outcome o = open(stream, s); !o.ok()) return o;
    if (Outcome o = open_event(event, e); !o.ok()) return o;
    return outcome("cuStreamWaitEvent", api_.cuStreamWaitEvent(s, e, CU_EVENT_WAIT_DEFAULT));
  }

  // The stream waits in the device's front end until its word reaches this hold's ticket; no kernel spins. Tickets only
  // grow (modulo 2^32, which the comparison allows for), so a word never needs to be lowered under a waiting stream.
  Outcome hold(std::uint32_t stream) override {
    CUstream s = nullptr;
    if (Outcome o = open(stream, s); !o.ok()) return o;
    if (is_capturing(stream))
      return {StepCode::unsupported, "hold: stream " + std::to_string(stream) + " is capturing"};
    const std::uint32_t ticket = tickets_[stream] + 1;
    Outcome o =
        outcome("cuStreamWaitValue32", api_.cuStreamWaitValue32(s, words_on_device_ + stream * sizeof(std::uint32_t),
                                                                ticket, CU_STREAM_WAIT_VALUE_GEQ));
    if (o.ok()) tickets_[stream] = ticket;
    return o;
  }

  Outcome unhold(std::uint32_t stream) override {
    if (stream >= kStreams) return unknown_stream(stream);
    if (Outcome o = enter(); !o.ok()) return o;
    release_holds(stream);
    return {};
  }

  Outcome sync(std::uint32_t stream) override {
    CUstream s = nullptr;
    if (Outcome o = open(stream, s); !o.ok()) return o;
    if (is_held(stream)) return waits_for_itself(stream);
    return outcome("cuStreamSynchronize", api_.cuStreamSynchronize(s));
  }

  Outcome sync_device() override {
    if (Outcome o = enter(); !o.ok()) return o;
    for (std::uint32_t i = 0; i < kStreams; ++i) {
      if (is_held(i)) return waits_for_itself(i);
    }
    return outcome("cuCtxSynchronize", api_.cuCtxSynchronize());
  }

  // Never waits: the call's work may still be running, or be held. A sticky error is returned by any call once it has
  // happened; a query of a stream is the cheapest. In capture a query would invalidate the capture that it looks at.
  Outcome verdict_on_call() override {
    const CUstream bound = std::exchange(bound_, nullptr);
    if (Outcome o = enter(); !o.ok()) return o;
    if (!capturing_.empty()) {
      CUstreamCaptureStatus status{};
      return outcome("cuStreamIsCapturing", api_.cuStreamIsCapturing(streams_[capturing_.front()], &status));
    }
    if (bound == nullptr) return {};
    const CUresult result = api_.cuStreamQuery(bound);
    return result == CUDA_ERROR_NOT_READY ? Outcome{} : outcome("after the call, cuStreamQuery", result);
  }

  Outcome begin_capture(std::uint32_t stream, CaptureMode mode) override {
    CUstream s = nullptr;
    if (Outcome o = open(stream, s); !o.ok()) return o;
    const CUstreamCaptureMode driver_mode = mode == CaptureMode::global          ? CU_STREAM_CAPTURE_MODE_GLOBAL
                                            : mode == CaptureMode::thread_local_ ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
                                                                                 : CU_STREAM_CAPTURE_MODE_RELAXED;
    Outcome o = outcome("cuStreamBeginCapture", api_.cuStreamBeginCapture(s, driver_mode));
    if (o.ok()) capturing_.push_back(stream);
    return o;
  }

  Outcome end_capture(std::uint32_t stream, std::uint32_t graph, GraphInventory& inventory) override {
    inventory = {};
    CUstream s = nullptr;
    if (Outcome o = open(stream, s); !o.ok()) return o;
    const auto at = std::find(capturing_.begin(), capturing_.end(), stream);
    if (at == capturing_.end()) {
      return {StepCode::launch_invalid, "end_capture: stream " + std::to_string(stream) + " is not capturing"};
    }
    capturing_.erase(at);
    CUgraph captured = nullptr;
    const CUresult ended = api_.cuStreamEndCapture(s, &captured);
    Outcome result = ended == CUDA_ERROR_ILLEGAL_STATE
                         ? Outcome{StepCode::capture_illegal, "the candidate ended the capture of its stream"}
                         : outcome("cuStreamEndCapture", ended);
    if (result.ok()) result = keep_graph(captured, graph, inventory);
    if (captured != nullptr) api_.cuGraphDestroy(captured);  // the executable graph holds what it needs
    return result;
  }

  void abandon_captures() override {
    if (!enter().ok()) return;
    for (const std::uint32_t i : std::exchange(capturing_, {})) {
      CUgraph abandoned = nullptr;
      api_.cuStreamEndCapture(streams_[i], &abandoned);
      if (abandoned != nullptr) api_.cuGraphDestroy(abandoned);
    }
  }

  Outcome launch(std::uint32_t graph, std::uint32_t stream) override {
    CUstream s = nullptr;
    if (Outcome o = open(stream, s); !o.ok()) return o;
    const auto at = graphs_.find(graph);
    if (at == graphs_.end()) return {StepCode::launch_invalid, "launch: there is no graph " + std::to_string(graph)};
    const CUresult result = api_.cuGraphLaunch(at->second, s);
    // A graph that was instantiated and cannot be launched (again) holds what its capture should not have put there,
    // such as an allocation that it does not free.
    if (result == CUDA_ERROR_INVALID_VALUE)
      return {StepCode::capture_illegal, cuda::describe(api_, "cuGraphLaunch", result)};
    return outcome("cuGraphLaunch", result);
  }

  // A graph in flight finishes first; the driver sees to that.
  Outcome drop_graph(std::uint32_t graph) override {
    if (Outcome o = enter(); !o.ok()) return o;
    const auto node = graphs_.extract(graph);
    if (node.empty()) return {};
    return outcome("cuGraphExecDestroy", api_.cuGraphExecDestroy(node.mapped()));
  }

  Outcome usage(DeviceUsage& usage) override {
    if (Outcome o = enter(); !o.ok()) return o;
    std::size_t free_bytes = 0, total_bytes = 0;
    const cuda::RelaxedCapture relaxed(api_);
    if (Outcome o = outcome("cuMemGetInfo", api_.cuMemGetInfo(&free_bytes, &total_bytes)); !o.ok()) return o;
    usage.bytes_used = total_bytes - free_bytes;
    usage.scratch_bytes = 0;
    for (const Block& block : blocks_) usage.scratch_bytes += block.bytes;
    usage.handles = events_.size() + graphs_.size() + (load_memory_ != 0 ? 1 : 0) +
                    static_cast<std::uint64_t>(kStreams - std::count(streams_.begin(), streams_.end(), nullptr));
    return {};
  }

  std::uint64_t cache_set_aside() const noexcept override {
    std::size_t bytes = 0;
    const bool known = context_.make_current() == CUDA_SUCCESS &&
                       api_.cuCtxGetLimit(&bytes, CU_LIMIT_PERSISTING_L2_CACHE_SIZE) == CUDA_SUCCESS;
    return known ? bytes : 0;
  }

  // No two calls of a program share scratch: they may run on two streams, or live on in a graph. So the steps between
  // two resets draw from blocks that are poisoned as a whole before they are handed out and freed by reset() only.
  Outcome scratch(std::size_t bytes, void** memory) override {
    *memory = nullptr;
    if (Outcome o = enter(); !o.ok()) return o;
    if (bytes > SIZE_MAX / 4) return {StepCode::out_of_memory, "scratch: " + std::to_string(bytes) + " bytes"};
    const std::size_t wanted = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (blocks_.empty() || blocks_.back().bytes - blocks_.back().used < wanted) {
      if (Outcome o = add_block((wanted + kBlockGranule - 1) / kBlockGranule * kBlockGranule); !o.ok()) return o;
    }
    Block& block = blocks_.back();
    *memory = reinterpret_cast<void*>(block.base + block.used);
    block.used += wanted;
    return {};
  }

 private:
  bool on_host(const void* memory) const {
    const auto* at = static_cast<const std::byte*>(memory);
    return std::any_of(shared_.begin(), shared_.end(),
                       [at](const auto& range) { return at >= range.first && at < range.first + range.second; });
  }

  struct Block {
    CUdeviceptr base = 0;
    std::size_t bytes = 0, used = 0;
  };

  Outcome outcome(const char* call, CUresult result) const {
    if (result == CUDA_SUCCESS) return {};
    StepCode code = cuda::step_code(result);
    if (code == StepCode::device_fault && !candidate_ran_) code = StepCode::infrastructure;  // nobody else to blame yet
    return {code, cuda::describe(api_, call, result)};
  }

  static Outcome unknown_stream(std::uint32_t stream) {
    return {StepCode::launch_invalid, "there is no stream " + std::to_string(stream)};
  }
  // The program's mistake, never the candidate's: without this answer the worker would hang.
  static Outcome waits_for_itself(std::uint32_t stream) {
    return {StepCode::infrastructure, "the program waits for stream " + std::to_string(stream) + ", which it holds"};
  }

  Outcome enter() const { return outcome("cuCtxSetCurrent", context_.make_current()); }

  Outcome open(std::uint32_t index, CUstream& stream) {
    if (index >= kStreams) return unknown_stream(index);
    if (Outcome o = enter(); !o.ok()) return o;
    if (streams_[index] == nullptr) {
      const cuda::RelaxedCapture relaxed(api_);
      const unsigned flags = index == kCudaBlockingStream ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
      if (Outcome o = outcome("cuStreamCreate", api_.cuStreamCreate(&streams_[index], flags)); !o.ok()) return o;
    }
    stream = streams_[index];
    return {};
  }

  Outcome open_event(std::uint32_t index, CUevent& event) {
    CUevent& slot = events_[index];
    if (slot == nullptr) {
      const cuda::RelaxedCapture relaxed(api_);
      if (Outcome o = outcome("cuEventCreate", api_.cuEventCreate(&slot, CU_EVENT_DISABLE_TIMING)); !o.ok()) {
        events_.erase(index);
        return o;
      }
    }
    event = slot;
    return {};
  }

  bool is_capturing(std::uint32_t stream) const {
    return std::find(capturing_.begin(), capturing_.end(), stream) != capturing_.end();
  }
  bool is_held(std::uint32_t stream) const { return words_[stream] != tickets_[stream]; }
  // The device polls the word over the bus: what the host wrote before must be visible before the word is.
  void release_holds(std::uint32_t stream) {
    std::atomic_ref<std::uint32_t>(words_[stream]).store(tickets_[stream], std::memory_order_seq_cst);
  }

  Outcome keep_graph(CUgraph captured, std::uint32_t index, GraphInventory& inventory) {
    if (captured == nullptr) return {StepCode::capture_empty, "nothing was captured"};
    std::uint32_t work = 0;
    if (Outcome o = count_nodes(captured, inventory, work); !o.ok()) return o;
    if (inventory.host_callbacks > 0) {
      return {StepCode::capture_host_node,
              "the graph calls the host " + std::to_string(inventory.host_callbacks) + " times"};
    }
    if (work == 0) return {StepCode::capture_empty, "nothing was captured"};
    CUgraphExec executable = nullptr;
    const CUresult result = api_.cuGraphInstantiateWithFlags(&executable, captured, 0);
    if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED) {
      return {StepCode::capture_illegal, cuda::describe(api_, "the captured graph: cuGraphInstantiate", result)};
    }
    if (Outcome o = outcome("cuGraphInstantiate", result); !o.ok()) return o;
    CUgraphExec& slot = graphs_[index];
    if (slot != nullptr) api_.cuGraphExecDestroy(slot);
    slot = executable;
    return {};
  }

  // Leaves of child graphs included; `work` counts the nodes that do something.
  Outcome count_nodes(CUgraph graph, GraphInventory& inventory, std::uint32_t& work) const {
    std::size_t count = 0;
    if (Outcome o = outcome("cuGraphGetNodes", api_.cuGraphGetNodes(graph, nullptr, &count)); !o.ok()) return o;
    std::vector<CUgraphNode> nodes(count);
    if (count == 0) return {};
    if (Outcome o = outcome("cuGraphGetNodes", api_.cuGraphGetNodes(graph, nodes.data(), &count)); !o.ok()) return o;
    for (const CUgraphNode node : nodes) {
      CUgraphNodeType type{};
      if (Outcome o = outcome("cuGraphNodeGetType", api_.cuGraphNodeGetType(node, &type)); !o.ok()) return o;
      if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
        CUgraph child = nullptr;
        if (Outcome o = outcome("cuGraphChildGraphNodeGetGraph", api_.cuGraphChildGraphNodeGetGraph(node, &child));
            !o.ok()) {
          return o;
        }
        if (Outcome o = count_nodes(child, inventory, work); !o.ok()) return o;
        continue;
      }
      ++inventory.nodes;
      work += type == CU_GRAPH_NODE_TYPE_EMPTY ? 0 : 1;
      inventory.kernels += type == CU_GRAPH_NODE_TYPE_KERNEL ? 1 : 0;
      inventory.copies += type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET ? 1 : 0;
      inventory.allocations += type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? 1 : 0;
      if (type == CU_GRAPH_NODE_TYPE_HOST) {
        CUDA_HOST_NODE_PARAMS callback{};
        if (Outcome o = outcome("cuGraphHostNodeGetParams", api_.cuGraphHostNodeGetParams(node, &callback)); !o.ok())
          return o;
        inventory.host_callbacks += cuda::is_nccl_code(reinterpret_cast<const void*>(callback.fn)) ? 0 : 1;
      }
    }
    return {};
  }

  // Stream: the trusted one; complete on return, so that scratch is poisoned before any stream can use it.
  Outcome poison(CUdeviceptr base, std::size_t bytes) const {
    if (Outcome o = outcome("cuMemsetD8Async", api_.cuMemsetD8Async(base, kScratchPoison, bytes, trusted_)); !o.ok()) {
      return o;
    }
    return outcome("cuStreamSynchronize", api_.cuStreamSynchronize(trusted_));
  }

  Outcome add_block(std::size_t bytes) {
    const cuda::RelaxedCapture relaxed(api_);
    Block block{0, bytes, 0};
    if (Outcome o = outcome("cuMemAlloc (scratch)", api_.cuMemAlloc(&block.base, bytes)); !o.ok()) return o;
    blocks_.push_back(block);
    return poison(block.base, bytes);
  }

  // The next program gets one block as large as this one's together: after the first it allocates nothing.
  Outcome recycle_scratch() {
    if (blocks_.size() == 1) {
      const std::size_t dirty = std::exchange(blocks_[0].used, 0);
      return dirty != 0 ? poison(blocks_[0].base, dirty) : Outcome{};
    }
    if (blocks_.empty()) return {};
    std::size_t total = 0;
    for (const Block& block : std::exchange(blocks_, {})) {
      total += block.bytes;
      api_.cuMemFree(block.base);
    }
    return add_block(total);
  }

  void close() {
    if (context_.make_current() == CUDA_ERROR_CONTEXT_IS_DESTROYED) return;
    for (const CUstream stream : streams_) {
      if (stream != nullptr) api_.cuStreamDestroy(stream);
    }
    if (trusted_ != nullptr) api_.cuStreamDestroy(trusted_);
    if (load_ != nullptr) api_.cuStreamDestroy(load_);
    for (const Block& block : blocks_) api_.cuMemFree(block.base);
    if (load_memory_ != 0) api_.cuMemFree(load_memory_);
    if (words_ != nullptr) api_.cuMemFreeHost(words_);
  }

  cuda::PrimaryContext context_;
  const cuda::DriverApi& api_;
  std::array<CUstream, kStreams> streams_{};
  std::map<std::uint32_t, CUevent> events_;
  std::map<std::uint32_t, CUgraphExec> graphs_;
  std::vector<std::uint32_t> capturing_;
  std::uint32_t* words_ = nullptr;  // pinned, one a stream: the last ticket released
  CUdeviceptr words_on_device_ = 0;
  std::array<std::uint32_t, kStreams> tickets_{};  // the last ticket that the stream waits for
  std::vector<std::pair<const std::byte*, std::size_t>> shared_;  // host memory of trusted copies
  std::vector<Block> blocks_;
  CUstream trusted_ = nullptr, load_ = nullptr;
  CUdeviceptr load_memory_ = 0;
  CUstream bound_ = nullptr;
  bool candidate_ran_ = false;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(const cuda::DriverApi& api, int ordinal) {
  return std::make_unique<CudaDevice>(api, ordinal);
}
int count_cuda_devices() {
  const cuda::DriverApi& api = cuda::driver();
  cuda::require(api, "cuInit", api.cuInit(0));
  int count = 0;
  cuda::require(api, "cuDeviceGetCount", api.cuDeviceGetCount(&count));
  return count;
}
std::unique_ptr<Device> make_cuda_device(int ordinal) { return make_cuda_device(cuda::driver(), ordinal); }

}  // namespace assay

#endif
