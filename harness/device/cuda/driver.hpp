// driver.hpp: the CUDA driver API as a table of function pointers, filled on first use from libcuda.so.1.
//
// Promises: nothing is linked, and a process that never calls driver() never loads the driver. Members carry CUDA's own
// names; <cuda.h> turns both the name and the type into those of the version that it declares (cuMemAlloc is
// cuMemAlloc_v2), so the exported symbol that is looked up is the one that was compiled against.
// Not promised: use after fork(). A child must exec before it touches CUDA.
// Who calls it: this folder. Builds with the toolkit only (ASSAY_HAVE_CUDA).
//
//   auto context = std::make_shared<cuda::PrimaryContext>(cuda::driver(), ordinal);
//   cuda::require(api, "cuMemFree", api.cuMemFree(memory));
#pragma once

#ifndef ASSAY_HAVE_CUDA
#error "driver.hpp needs the CUDA toolkit's headers; without them only cuda_device.hpp and memory.hpp may be included"
#endif
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
#error "the trusted steps are written for the legacy default stream"
#endif

#include <cuda.h>

#include <string>
#include <vector>

#include "harness/device/device.hpp"

static_assert(CUDA_VERSION >= 12040, "CUDA 12.4 or later is needed");

// Only functions whose versioned name is the same from 12.4 to 13.5 belong here (not cuStreamGetCaptureInfo,
// cuCtxCreate, cuGraphGetEdges, ...): a header that renames one changes the type under the callers.
// clang-format off
#define ASSAY_CUDA_FUNCTIONS(X)                                                                                  \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGet) X(cuDeviceGetCount)       \
  X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease)            \
  X(cuCtxSetCurrent) X(cuCtxSynchronize) X(cuCtxGetId) X(cuDevicePrimaryCtxGetState) X(cuMemGetInfo)             \
  X(cuMemAlloc) X(cuMemFree) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemHostGetDevicePointer)                     \
  X(cuMemsetD8Async) X(cuMemsetD16Async) X(cuMemsetD32Async) X(cuMemcpyDtoDAsync) X(cuMemcpyHtoDAsync)           \
  X(cuMemcpyDtoHAsync) X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamQuery)              \
  X(cuStreamWaitEvent) X(cuStreamWaitValue32) X(cuStreamBeginCapture) X(cuStreamEndCapture)                      \
  X(cuStreamIsCapturing) X(cuThreadExchangeStreamCaptureMode) X(cuEventCreate) X(cuEventDestroy)                 \
  X(cuEventRecord) X(cuEventSynchronize) X(cuGraphDestroy) X(cuGraphGetNodes) X(cuGraphNodeGetType)              \
  X(cuGraphChildGraphNodeGetGraph) X(cuGraphInstantiateWithFlags) X(cuGraphExecDestroy) X(cuGraphLaunch)         \
  X(cuMemGetAllocationGranularity) X(cuMemCreate) X(cuMemRelease) X(cuMemExportToShareableHandle)                \
  X(cuMemImportFromShareableHandle) X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemMap) X(cuMemUnmap)         \
  X(cuMemSetAccess) X(cuMemHostRegister) X(cuMemHostUnregister) X(cuGraphHostNodeGetParams) X(cuCtxGetLimit)
// clang-format on

namespace assay::cuda {

struct DriverApi {
#define ASSAY_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  ASSAY_CUDA_FUNCTIONS(ASSAY_CUDA_MEMBER)
#undef ASSAY_CUDA_MEMBER
};

// The table of this process. Throws DeviceError where the library or one of its functions is missing.
[[nodiscard]] const DriverApi& driver();
// The exported names that driver() looks up, in the table's order.
[[nodiscard]] const std::vector<const char*>& symbols();

// What a driver error says about the step that met it, once candidate work may have run. Errors that no row names are
// infrastructure: the worker decides nothing from what it cannot explain.
[[nodiscard]] StepCode step_code(CUresult) noexcept;

// "cuGraphLaunch: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"
[[nodiscard]] std::string describe(const DriverApi&, const char* call, CUresult);
// Throws DeviceError with that text unless the call succeeded.
void require(const DriverApi&, const char* call, CUresult);

// A reference to a device's primary context; current on the constructing thread. Throws DeviceError.
class PrimaryContext {
 public:
  PrimaryContext(const DriverApi& api, int ordinal);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  // Every trusted step comes through here: candidates may change the thread's current context, or reset the device.
  // After a reset each handle of the old context dangles, and the driver crashes on it [m]: unless this succeeds, no
  // handle may be touched, not even to destroy it. CUDA_ERROR_CONTEXT_IS_DESTROYED says so.
  [[nodiscard]] CUresult make_current() const noexcept;
  [[nodiscard]] const DriverApi& api() const noexcept { return api_; }
  [[nodiscard]] CUdevice device() const noexcept { return device_; }
  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] std::string architecture() const;     // "sm90"
  [[nodiscard]] std::string describe_device() const;  // "NVIDIA H200, sm90, driver 580.159.04, CUDA 13.0"

 private:
  const DriverApi& api_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  unsigned long long id_ = 0;  // of this instance: a context made after a reset has another
  int ordinal_;
};

// Lets this thread allocate and synchronise while a capture of the global kind is open somewhere in the process: the
// harness's own work must not invalidate the candidate's capture. Never spans candidate code.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const DriverApi& api) : api_(api) { api_.cuThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { api_.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const DriverApi& api_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace assay::cuda
