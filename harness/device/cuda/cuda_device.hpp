// cuda_device.hpp: the CUDA implementation of Device, over the driver API of driver.hpp.
//
// Promises: defined in every build; where CUDA is absent (no toolkit at build time, no driver or no such GPU at run
// time) the factories throw DeviceError with one sentence. The device's primary context is used, so a candidate that
// uses the runtime API shares it. Streams 0 to 63 are non-blocking, except stream 7, which is a blocking one.
// Not promised: an end to a wait. A candidate that waits for a held stream waits for ever; the judge's deadline ends
// it. Who calls it: harness/worker, from its candidate thread, and the tests, with a DriverApi of their own.
//
//   auto device = make_cuda_device(0);
//   if (Outcome o = device->bind(call, 0); !o.ok()) report(o);
#pragma once

#include <memory>

#include "harness/device/device.hpp"
#include "harness/device/memory.hpp"

namespace assay {

namespace cuda {
struct DriverApi;
}

// Which stream of a CUDA device is a blocking one (ordered with the legacy stream), so that capture is tried on one.
inline constexpr std::uint32_t kCudaBlockingStream = 7;

[[nodiscard]] std::unique_ptr<Device> make_cuda_device(int ordinal);
[[nodiscard]] int count_cuda_devices();  // visible ones. Throws DeviceError

// Builds with the toolkit only. The table outlives what is made from it.
[[nodiscard]] std::unique_ptr<Device> make_cuda_device(const cuda::DriverApi& api, int ordinal);
[[nodiscard]] std::unique_ptr<MemoryDomain> make_cuda_memory(const cuda::DriverApi& api, int ordinal);

}  // namespace assay
