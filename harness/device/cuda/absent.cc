// The factories of a build without the toolkit: there is no <cuda.h>, and the device is reported as absent.
#ifndef ASSAY_HAVE_CUDA

#include "harness/device/cuda/cuda_device.hpp"

namespace assay {
namespace {
constexpr const char* kAbsent =
    "CUDA: this build of assay has no CUDA support; build it where cuda.h 12.4 or later is found";
}

int count_cuda_devices() { throw DeviceError(kAbsent); }
std::unique_ptr<Device> make_cuda_device(int) { throw DeviceError(kAbsent); }
std::unique_ptr<MemoryDomain> make_cuda_memory(int) { throw DeviceError(kAbsent); }

}  // namespace assay

#endif
