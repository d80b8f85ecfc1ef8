// fake_driver.hpp: a DriverApi that records calls and obeys a script, for tests without a GPU.
//
// Promises: every function of the table is there, logs its name, with its telling argument after a space, and returns
// the scripted result, else success. Handles and addresses are made-up numbers and are counted until they are ended.
// Pinned host memory is real, and so is device memory at kStore, so that staged copies move bytes.
// Not promised: threads, or work other than staged copies. One FakeDriver lives at a time.
//
//   FakeDriver fake;
//   fake.fail("cuStreamEndCapture", CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
//   auto device = make_cuda_device(fake.api(), 0);
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/device/cuda/driver.hpp"

namespace assay {

class FakeDriver {
 public:
  FakeDriver() {
    current_ = this;
#define ASSAY_FAKE_DEFAULT(name) api_.name = Default<Function::name, decltype(api_.name)>::call;
    ASSAY_CUDA_FUNCTIONS(ASSAY_FAKE_DEFAULT)
#undef ASSAY_FAKE_DEFAULT
    install_device();
    install_queues();
    install_graphs();
    install_memory();
  }
  ~FakeDriver() { current_ = nullptr; }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  [[nodiscard]] const cuda::DriverApi& api() const noexcept { return api_; }

  // The named function returns this from its nth call from now on; CUDA_SUCCESS makes it behave again.
  void fail(const std::string& function, CUresult result, std::size_t from_call = 1) {
    scripts_[function] = {result, calls_[function] + from_call};
  }
  void clear() { log.clear(); }
  [[nodiscard]] std::size_t count(const std::string& entry) const {
    return static_cast<std::size_t>(std::count(log.begin(), log.end(), entry));
  }
  [[nodiscard]] bool in_order(const std::vector<std::string>& entries) const {
    auto at = log.begin();
    for (const std::string& entry : entries) {
      at = std::find(at, log.end(), entry);
      if (at == log.end()) return false;
      ++at;
    }
    return true;
  }

  std::vector<std::string> log;
  std::vector<CUgraphNodeType> nodes{CU_GRAPH_NODE_TYPE_KERNEL};  // of a captured graph
  CUhostFn host_function = nullptr;                               // of each node of type HOST
  std::vector<CUgraphNodeType> child_nodes;                       // of the child of each node of type GRAPH
  std::set<std::uintptr_t> live;                                  // made and not yet ended
  std::vector<std::byte> store;                                   // the device memory from kStore on
  unsigned long long context_id = 1;
  std::uintptr_t word = 0;  // the last address and value waited for
  std::uint32_t value = 0;
  static constexpr std::uintptr_t kStore = 0x7000'0000'0000;

 private:
  enum class Function {
#define ASSAY_FAKE_ENUMERATOR(name) name,
    ASSAY_CUDA_FUNCTIONS(ASSAY_FAKE_ENUMERATOR)
#undef ASSAY_FAKE_ENUMERATOR
  };
  static const char* name_of(Function function) {
#define ASSAY_FAKE_NAME(name) #name,
    static constexpr const char* kNames[] = {ASSAY_CUDA_FUNCTIONS(ASSAY_FAKE_NAME)};
#undef ASSAY_FAKE_NAME
    return kNames[static_cast<std::size_t>(function)];
  }
  template <Function F, class T>
  struct Default;
  template <Function F, class... Arguments>
  struct Default<F, CUresult (*)(Arguments...)> {
    static CUresult call(Arguments...) { return current_->called(name_of(F)); }
  };
  struct Script {
    CUresult result = CUDA_SUCCESS;
    std::size_t from_call = 1;
  };
  enum Node : std::uintptr_t {
    context = 0x8,
    graph = 0x10,
    child_graph = 0x11,
    first_node = 0x100,
    first_child_node = 0x10000
  };

  CUresult called(const std::string& function, const std::string& detail = {}) {
    log.push_back(detail.empty() ? function : function + " " + detail);
    const Script& script = scripts_[function];
    return ++calls_[function] >= script.from_call ? script.result : CUDA_SUCCESS;
  }
  template <class T>
  CUresult make(const std::string& function, T* slot, const std::string& detail = {}) {
    const CUresult result = called(function, detail);
    if (result != CUDA_SUCCESS) return result;
    live.insert(next_ += 0x1000'0000);
    *slot = (T)(next_);  // a pointer or an integer, by the function's type
    return result;
  }
  template <class T>
  CUresult end(const std::string& function, T handle) {
    if (live.erase((std::uintptr_t)(handle)) == 0) called(function, "of what was never made");
    return called(function);
  }
  // Copies run as late as the waits allow, so that staging memory reused too early is seen.
  void copy_until(std::size_t end) {
    for (; copied_ < end; ++copied_) copies_[copied_]();
  }
  std::byte* stored(CUdeviceptr address) { return store.data() + (address - kStore); }

  void install_device() {
    api_.cuGetErrorName = [](CUresult, const char** text) { return *text = "CUDA_ERROR_SCRIPTED", CUDA_SUCCESS; };
    api_.cuGetErrorString = [](CUresult, const char** text) { return *text = "as the test says", CUDA_SUCCESS; };
    api_.cuDeviceGetCount = [](int* n) { return *n = 2, current_->called("cuDeviceGetCount"); };
    api_.cuDeviceGet = [](CUdevice* d, int i) { return *d = i, current_->called("cuDeviceGet", std::to_string(i)); };
    api_.cuDeviceGetName = [](char* text, int bytes, CUdevice) {
      std::strncpy(text, "Fake GPU", static_cast<std::size_t>(bytes));
      return CUDA_SUCCESS;
    };
    api_.cuDeviceGetAttribute = [](int* value, CUdevice_attribute a, CUdevice) {
      *value = a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
      return CUDA_SUCCESS;
    };
    api_.cuDriverGetVersion = [](int* version) { return *version = 13000, CUDA_SUCCESS; };
    api_.cuDevicePrimaryCtxRetain = [](CUcontext* c, CUdevice) {
      const CUresult result = current_->called("cuDevicePrimaryCtxRetain");
      if (result == CUDA_SUCCESS) current_->live.insert(context), *c = (CUcontext)context;
      return result;
    };
    api_.cuDevicePrimaryCtxGetState = [](CUdevice, unsigned*, int* active) {
      *active = current_->live.count(context) != 0;
      return CUDA_SUCCESS;
    };
    api_.cuCtxGetId = [](CUcontext, unsigned long long* id) { return *id = current_->context_id, CUDA_SUCCESS; };
    api_.cuDevicePrimaryCtxRelease = [](CUdevice) { return current_->end("cuDevicePrimaryCtxRelease", context); };
    api_.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode* mode) {
      std::swap(*mode, current_->mode_);
      return current_->called("cuThreadExchangeStreamCaptureMode", std::to_string(current_->mode_));
    };
  }

  void install_queues() {
    api_.cuStreamCreate = [](CUstream* s, unsigned flags) {
      return current_->make("cuStreamCreate", s, flags == CU_STREAM_NON_BLOCKING ? "non-blocking" : "blocking");
    };
    api_.cuStreamDestroy = [](CUstream s) { return current_->end("cuStreamDestroy", s); };
    api_.cuEventCreate = [](CUevent* e, unsigned) { return current_->make("cuEventCreate", e); };
    api_.cuEventDestroy = [](CUevent e) { return current_->end("cuEventDestroy", e); };
    api_.cuStreamWaitValue32 = [](CUstream, CUdeviceptr word, cuuint32_t value, unsigned flags) {
      current_->word = word;
      current_->value = value;
      return current_->called("cuStreamWaitValue32", flags == CU_STREAM_WAIT_VALUE_GEQ ? "geq" : "other");
    };
    api_.cuStreamBeginCapture = [](CUstream, CUstreamCaptureMode m) {
      return current_->called("cuStreamBeginCapture", std::to_string(m));
    };
    api_.cuMemsetD8Async = [](CUdeviceptr, unsigned char pattern, std::size_t n, CUstream) {
      return current_->called("cuMemsetD8Async", std::to_string(pattern) + "*" + std::to_string(n));
    };
    api_.cuMemsetD16Async = [](CUdeviceptr, unsigned short pattern, std::size_t n, CUstream) {
      return current_->called("cuMemsetD16Async", std::to_string(pattern) + "*" + std::to_string(n));
    };
    api_.cuMemsetD32Async = [](CUdeviceptr, unsigned pattern, std::size_t n, CUstream) {
      return current_->called("cuMemsetD32Async", std::to_string(pattern) + "*" + std::to_string(n));
    };
  }

  void install_graphs() {
    api_.cuStreamEndCapture = [](CUstream, CUgraph* g) {
      const CUresult result = current_->called("cuStreamEndCapture");
      if (result == CUDA_SUCCESS) current_->live.insert(graph), *g = (CUgraph)graph;
      return result;
    };
    api_.cuGraphDestroy = [](CUgraph g) { return current_->end("cuGraphDestroy", g); };
    api_.cuGraphGetNodes = [](CUgraph g, CUgraphNode* out, std::size_t* n) {
      const bool child = (std::uintptr_t)g == child_graph;
      const std::size_t size = child ? current_->child_nodes.size() : current_->nodes.size();
      for (std::size_t i = 0; out != nullptr && i < size; ++i) {
        out[i] = (CUgraphNode)((child ? first_child_node : first_node) + i);
      }
      *n = size;
      return CUDA_SUCCESS;
    };
    api_.cuGraphNodeGetType = [](CUgraphNode node, CUgraphNodeType* type) {
      const auto id = (std::uintptr_t)node;
      *type = id >= first_child_node ? current_->child_nodes[id - first_child_node] : current_->nodes[id - first_node];
      return CUDA_SUCCESS;
    };
    api_.cuGraphHostNodeGetParams = [](CUgraphNode, CUDA_HOST_NODE_PARAMS* p) {
      return p->fn = current_->host_function, current_->called("cuGraphHostNodeGetParams");
    };
    api_.cuGraphChildGraphNodeGetGraph = [](CUgraphNode, CUgraph* g) {
      return *g = (CUgraph)child_graph, CUDA_SUCCESS;
    };
    api_.cuGraphInstantiateWithFlags = [](CUgraphExec* e, CUgraph, unsigned long long) {
      return current_->make("cuGraphInstantiateWithFlags", e);
    };
    api_.cuGraphExecDestroy = [](CUgraphExec e) { return current_->end("cuGraphExecDestroy", e); };
  }

  void install_memory() {
    api_.cuMemGetInfo = [](std::size_t* free, std::size_t* total) {
      return *free = 60, *total = 100, current_->called("cuMemGetInfo");
    };
    api_.cuMemAlloc = [](CUdeviceptr* p, std::size_t n) { return current_->make("cuMemAlloc", p, std::to_string(n)); };
    api_.cuMemFree = [](CUdeviceptr p) { return current_->end("cuMemFree", p); };
    api_.cuMemHostAlloc = [](void** p, std::size_t n, unsigned) {
      const CUresult result = current_->called("cuMemHostAlloc", std::to_string(n));
      if (result != CUDA_SUCCESS) return result;
      *p = current_->pinned_.emplace_back(new std::byte[n]).get();
      current_->live.insert((std::uintptr_t)*p);
      return result;
    };
    api_.cuMemHostRegister = [](void* p, std::size_t n, unsigned) {
      const CUresult result = current_->called("cuMemHostRegister", std::to_string(n));
      if (result == CUDA_SUCCESS) current_->live.insert((std::uintptr_t)p);
      return result;
    };
    api_.cuMemHostUnregister = [](void* p) { return current_->end("cuMemHostUnregister", p); };
    api_.cuMemFreeHost = [](void* p) { return current_->end("cuMemFreeHost", p); };
    api_.cuMemHostGetDevicePointer = [](CUdeviceptr* p, void* host, unsigned) {
      return *p = (CUdeviceptr)host, current_->called("cuMemHostGetDevicePointer");
    };
    api_.cuMemcpyHtoDAsync = [](CUdeviceptr to, const void* from, std::size_t n, CUstream) {
      current_->copies_.push_back([=] { std::memcpy(current_->stored(to), from, n); });
      return current_->called("cuMemcpyHtoDAsync", std::to_string(n));
    };
    api_.cuMemcpyDtoHAsync = [](void* to, CUdeviceptr from, std::size_t n, CUstream) {
      current_->copies_.push_back([=] { std::memcpy(to, current_->stored(from), n); });
      return current_->called("cuMemcpyDtoHAsync", std::to_string(n));
    };
    api_.cuEventRecord = [](CUevent e, CUstream) {
      current_->recorded_[e] = current_->copies_.size();
      return current_->called("cuEventRecord");
    };
    api_.cuEventSynchronize = [](CUevent e) {
      current_->copy_until(current_->recorded_[e]);
      return current_->called("cuEventSynchronize");
    };
    api_.cuStreamSynchronize = [](CUstream) {
      current_->copy_until(current_->copies_.size());
      return current_->called("cuStreamSynchronize");
    };
    api_.cuMemGetAllocationGranularity = [](std::size_t* n, const CUmemAllocationProp*,
                                            CUmemAllocationGranularity_flags) {
      return *n = std::size_t{2} << 20, current_->called("cuMemGetAllocationGranularity");
    };
    api_.cuMemCreate = [](CUmemGenericAllocationHandle* h, std::size_t n, const CUmemAllocationProp* p,
                          unsigned long long) {
      const bool shareable = p->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
      return current_->make("cuMemCreate", h, std::to_string(n) + (shareable ? "" : " not shareable"));
    };
    api_.cuMemImportFromShareableHandle = [](CUmemGenericAllocationHandle* h, void* fd, CUmemAllocationHandleType) {
      return current_->make("cuMemImportFromShareableHandle", h, std::to_string((std::intptr_t)fd));
    };
    api_.cuMemRelease = [](CUmemGenericAllocationHandle h) { return current_->end("cuMemRelease", h); };
    api_.cuMemExportToShareableHandle = [](void* fd, CUmemGenericAllocationHandle, CUmemAllocationHandleType,
                                           unsigned long long) {
      const CUresult result = current_->called("cuMemExportToShareableHandle");
      if (result == CUDA_SUCCESS) *static_cast<int*>(fd) = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      return result;
    };
    api_.cuMemAddressReserve = [](CUdeviceptr* p, std::size_t n, std::size_t, CUdeviceptr, unsigned long long) {
      return current_->make("cuMemAddressReserve", p, std::to_string(n));
    };
    api_.cuMemAddressFree = [](CUdeviceptr p, std::size_t) { return current_->end("cuMemAddressFree", p); };
    api_.cuMemMap = [](CUdeviceptr p, std::size_t, std::size_t, CUmemGenericAllocationHandle, unsigned long long) {
      const CUresult result = current_->called("cuMemMap");
      if (result == CUDA_SUCCESS) current_->live.insert(p | 1);  // beside the reservation's own entry
      return result;
    };
    api_.cuMemUnmap = [](CUdeviceptr p, std::size_t) { return current_->end("cuMemUnmap", p | 1); };
    api_.cuMemSetAccess = [](CUdeviceptr, std::size_t, const CUmemAccessDesc* d, std::size_t) {
      return current_->called("cuMemSetAccess", d->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? "read" : "read-write");
    };
  }

  inline static FakeDriver* current_ = nullptr;
  cuda::DriverApi api_;
  std::map<std::string, Script> scripts_;
  std::map<std::string, std::size_t> calls_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::vector<std::function<void()>> copies_;
  std::size_t copied_ = 0;
  std::map<CUevent, std::size_t> recorded_;           // how many copies come before it
  std::vector<std::unique_ptr<std::byte[]>> pinned_;  // readable until the fake ends
  std::uintptr_t next_ = 0x1'0000'0000;
};

}  // namespace assay
