#ifdef ASSAY_HAVE_CUDA

#include "harness/device/cuda/driver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "harness/device/memory.hpp"

// Two steps, so that <cuda.h> renames the argument before it becomes text.
#define ASSAY_CUDA_TEXT(name) #name
#define ASSAY_CUDA_NAME(name) ASSAY_CUDA_TEXT(name)

namespace assay::cuda {
namespace {

DriverApi load_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed: the driver keeps threads
  if (library == nullptr) {
    const char* why = dlerror();
    throw DeviceError(std::string("CUDA: no driver on this machine: ") + (why != nullptr ? why : "libcuda.so.1"));
  }
  DriverApi api;
#define ASSAY_CUDA_LOAD(name)                                                                              \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, ASSAY_CUDA_NAME(name)));                  \
  if (api.name == nullptr) {                                                                               \
    throw DeviceError("CUDA: the driver is too old: libcuda.so.1 does not export " ASSAY_CUDA_NAME(name)); \
  }
  ASSAY_CUDA_FUNCTIONS(ASSAY_CUDA_LOAD)
#undef ASSAY_CUDA_LOAD
  return api;
}

struct ResultRow {
  CUresult result;
  StepCode code;
};

constexpr std::array kResults{
    ResultRow{CUDA_SUCCESS, StepCode::ok},
    // Candidate work broke the context. An execution-time OOM or ECC error is not among them.
    ResultRow{CUDA_ERROR_ILLEGAL_ADDRESS, StepCode::device_fault},
    ResultRow{CUDA_ERROR_MISALIGNED_ADDRESS, StepCode::device_fault},
    ResultRow{CUDA_ERROR_INVALID_ADDRESS_SPACE, StepCode::device_fault},
    ResultRow{CUDA_ERROR_INVALID_PC, StepCode::device_fault},
    ResultRow{CUDA_ERROR_ILLEGAL_INSTRUCTION, StepCode::device_fault},
    ResultRow{CUDA_ERROR_HARDWARE_STACK_ERROR, StepCode::device_fault},
    ResultRow{CUDA_ERROR_ASSERT, StepCode::device_fault},
    ResultRow{CUDA_ERROR_LAUNCH_FAILED, StepCode::device_fault},
    ResultRow{CUDA_ERROR_LAUNCH_TIMEOUT, StepCode::device_fault},
    ResultRow{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, StepCode::device_fault},
    ResultRow{CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, StepCode::device_fault},
    ResultRow{CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, StepCode::device_fault},
    ResultRow{CUDA_ERROR_INVALID_CLUSTER_SIZE, StepCode::device_fault},
    ResultRow{CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, StepCode::device_fault},
    // Nobody but the candidate resets the primary context.
    ResultRow{CUDA_ERROR_CONTEXT_IS_DESTROYED, StepCode::device_fault},
    // Calls that a capture forbids.
    ResultRow{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, StepCode::capture_illegal},
    ResultRow{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, StepCode::capture_illegal},
    ResultRow{CUDA_ERROR_STREAM_CAPTURE_MERGE, StepCode::capture_illegal},
    ResultRow{CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, StepCode::capture_illegal},
    ResultRow{CUDA_ERROR_STREAM_CAPTURE_ISOLATION, StepCode::capture_illegal},
    ResultRow{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, StepCode::capture_illegal},
    ResultRow{CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, StepCode::capture_illegal},
    ResultRow{CUDA_ERROR_CAPTURED_EVENT, StepCode::capture_illegal},
    ResultRow{CUDA_ERROR_STREAM_CAPTURE_UNJOINED, StepCode::capture_unjoined},
    ResultRow{CUDA_ERROR_OUT_OF_MEMORY, StepCode::out_of_memory},
    ResultRow{CUDA_ERROR_NOT_SUPPORTED, StepCode::unsupported},
    // The device, its driver or its services; these are the default too, and are written out to be tested.
    ResultRow{CUDA_ERROR_NOT_INITIALIZED, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_DEINITIALIZED, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_STUB_LIBRARY, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_DEVICE_UNAVAILABLE, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_NO_DEVICE, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_INVALID_DEVICE, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_DEVICE_NOT_LICENSED, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_ECC_UNCORRECTABLE, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_NVLINK_UNCORRECTABLE, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_OPERATING_SYSTEM, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_SYSTEM_NOT_READY, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_MPS_CONNECTION_FAILED, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_MPS_RPC_FAILURE, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_MPS_SERVER_NOT_READY, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_MPS_CLIENT_TERMINATED, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_EXTERNAL_DEVICE, StepCode::infrastructure},
    ResultRow{CUDA_ERROR_UNKNOWN, StepCode::infrastructure},
};

}  // namespace

const DriverApi& driver() {
  static const DriverApi api = load_driver();  // a load that throws is tried again by the next call
  return api;
}

const std::vector<const char*>& symbols() {
#define ASSAY_CUDA_SYMBOL(name) ASSAY_CUDA_NAME(name),
  static const std::vector<const char*> all{ASSAY_CUDA_FUNCTIONS(ASSAY_CUDA_SYMBOL)};
#undef ASSAY_CUDA_SYMBOL
  return all;
}

StepCode step_code(CUresult result) noexcept {
  const auto* row =
      std::find_if(kResults.begin(), kResults.end(), [&](const ResultRow& r) { return r.result == result; });
  return row != kResults.end() ? row->code : StepCode::infrastructure;
}

std::string describe(const DriverApi& api, const char* call, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) {
    return std::string(call) + ": CUDA error " + std::to_string(static_cast<int>(result));
  }
  std::string line = std::string(call) + ": " + name;
  if (api.cuGetErrorString(result, &text) == CUDA_SUCCESS && text != nullptr) line += " (" + std::string(text) + ")";
  return line;
}

void require(const DriverApi& api, const char* call, CUresult result) {
  if (result != CUDA_SUCCESS) throw DeviceError("CUDA: " + describe(api, call, result));
}

PrimaryContext::PrimaryContext(const DriverApi& api, int ordinal) : api_(api), ordinal_(ordinal) {
  require(api_, "cuInit", api_.cuInit(0));
  int count = 0;
  require(api_, "cuDeviceGetCount", api_.cuDeviceGetCount(&count));
  if (ordinal < 0 || ordinal >= count) {
    throw DeviceError("CUDA: there is no device " + std::to_string(ordinal) + ": " + std::to_string(count) +
                      " visible");
  }
  require(api_, "cuDeviceGet", api_.cuDeviceGet(&device_, ordinal));
  require(api_, "cuDevicePrimaryCtxRetain", api_.cuDevicePrimaryCtxRetain(&context_, device_));
  CUresult result = api_.cuCtxGetId(context_, &id_);
  if (result == CUDA_SUCCESS) result = make_current();
  if (result != CUDA_SUCCESS) {
    api_.cuDevicePrimaryCtxRelease(device_);
    require(api_, "cuCtxSetCurrent", result);
  }
}

CUresult PrimaryContext::make_current() const noexcept {
  unsigned flags = 0;
  int active = 0;
  if (const CUresult result = api_.cuDevicePrimaryCtxGetState(device_, &flags, &active); result != CUDA_SUCCESS) {
    return result;
  }
  unsigned long long id = 0;
  if (active == 0 || api_.cuCtxGetId(context_, &id) != CUDA_SUCCESS || id != id_)
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return api_.cuCtxSetCurrent(context_);
}

PrimaryContext::~PrimaryContext() { api_.cuDevicePrimaryCtxRelease(device_); }

std::string PrimaryContext::architecture() const {
  int major = 0, minor = 0;
  require(api_, "cuDeviceGetAttribute",
          api_.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device_));
  require(api_, "cuDeviceGetAttribute",
          api_.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device_));
  return "sm" + std::to_string(major) + std::to_string(minor);
}

std::string PrimaryContext::describe_device() const {
  char name[128] = "CUDA device";
  int version = 0;
  api_.cuDeviceGetName(name, static_cast<int>(sizeof name), device_);
  api_.cuDriverGetVersion(&version);
  std::string line = std::string(name) + ", " + architecture();
  // The driver API knows only the CUDA version that it serves; the kernel module's own number is what bug reports need.
  std::string module;
  if (std::ifstream file("/sys/module/nvidia/version"); std::getline(file, module)) line += ", driver " + module;
  return line + ", CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace assay::cuda

#endif
