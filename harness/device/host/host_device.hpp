// host_device.hpp: a deterministic model of a GPU's streams, events and graphs, for machines without a GPU.
//
// Promises: the Device interface with the order of design.md, "Two devices, one set of rules": the same program under
// the same Schedule runs the same kernels in the same order. Every misuse by a candidate becomes an ASSAY_ERROR and
// an Outcome (verdict_on_call, end_capture, sync), never a hang.
// Does not promise: anything about memory models, residency or speed; README.md lists what the model cannot show.
// Who calls it: the worker, from its candidate thread. One model lives in a process at a time, because the functions
// that candidates call carry no context; they may be called from several threads.
//
//   auto device = assay::make_host_device({});
//   device->schedule({.early = false, .block_seed = 7});
//   assay_call call{};
//   device->bind(call, 0);                       // stream 0
//   entry(&call, &x, &out);                      // queues launches through call.host
//   Outcome blame = device->verdict_on_call();
//   Outcome done = device->sync(0);
#pragma once

#include <functional>
#include <memory>

#include "harness/device/device.hpp"

namespace assay {

// Called around every run of a candidate's kernel, on the thread that runs it (with Schedule::threads, several at
// once), so that a fault inside a kernel is blamed on it. Either may be null.
struct HostHooks {
  void (*kernel_enter)(void* context) = nullptr;
  void (*kernel_leave)(void* context) = nullptr;
  void* context = nullptr;
};

// Throws std::logic_error where a model is alive in this process already.
[[nodiscard]] std::unique_ptr<Device> make_host_device(HostHooks hooks);

// Trusted work on a stream that a candidate names, ordered and captured as a launch is; NULL is the legacy stream. It
// must not throw, and a graph runs it again. What assay_group's functions are made of.
[[nodiscard]] Outcome submit_trusted(assay_host_stream*, std::function<void()>);

}  // namespace assay
